"""The administrator's way through the admin, in a real browser."""
