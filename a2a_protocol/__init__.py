"""The A2A 1.0 wire, and nothing else: types, envelope, errors, framing.

Everything in this package is a pure function of its arguments or a value. It opens
no file or socket, reads no clock, draws no random number, writes no log line and
knows no framework, so both roles of the gateway use the same code and every test of
it is «these bytes in, that value out».

Import the modules, not their names: ``from a2a_protocol import errors, jsonrpc``.
"""

from __future__ import annotations
