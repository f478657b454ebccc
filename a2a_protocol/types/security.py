"""How a client may authenticate, as a card says it: specification 4.5."""

from __future__ import annotations

from typing import Annotated

from a2a_protocol.types.wire import OneofModel, Rule, WireModel


class StringList(WireModel):
    # Readers that are not made from the proto take the list for granted.
    list: Annotated[tuple[str, ...], Rule(shown_empty=True)] = ()


class SecurityRequirement(WireModel):
    schemes: dict[str, StringList] = {}


class APIKeySecurityScheme(WireModel):
    description: str = ""
    location: str
    name: str


class HTTPAuthSecurityScheme(WireModel):
    description: str = ""
    scheme: str
    bearer_format: str = ""


class AuthorizationCodeOAuthFlow(WireModel):
    authorization_url: str
    token_url: str
    refresh_url: str = ""
    scopes: dict[str, str]
    pkce_required: bool = False


class ClientCredentialsOAuthFlow(WireModel):
    token_url: str
    refresh_url: str = ""
    scopes: dict[str, str]


class ImplicitOAuthFlow(WireModel):
    """Deprecated by the proto; still on cards."""

    authorization_url: str = ""
    refresh_url: str = ""
    scopes: dict[str, str] = {}


class PasswordOAuthFlow(WireModel):
    """Deprecated by the proto; still on cards."""

    token_url: str = ""
    refresh_url: str = ""
    scopes: dict[str, str] = {}


class DeviceCodeOAuthFlow(WireModel):
    device_authorization_url: str
    token_url: str
    refresh_url: str = ""
    scopes: dict[str, str]


class OAuthFlows(OneofModel):
    authorization_code: Annotated[
        AuthorizationCodeOAuthFlow | None, Rule(oneof="flow")
    ] = None
    client_credentials: Annotated[
        ClientCredentialsOAuthFlow | None, Rule(oneof="flow")
    ] = None
    implicit: Annotated[ImplicitOAuthFlow | None, Rule(oneof="flow")] = None
    password: Annotated[PasswordOAuthFlow | None, Rule(oneof="flow")] = None
    device_code: Annotated[DeviceCodeOAuthFlow | None, Rule(oneof="flow")] = None


class OAuth2SecurityScheme(WireModel):
    description: str = ""
    flows: OAuthFlows
    oauth2_metadata_url: str = ""


class OpenIdConnectSecurityScheme(WireModel):
    description: str = ""
    open_id_connect_url: str


class MutualTlsSecurityScheme(WireModel):
    description: str = ""


class SecurityScheme(OneofModel):
    api_key_security_scheme: Annotated[
        APIKeySecurityScheme | None, Rule(oneof="scheme")
    ] = None
    http_auth_security_scheme: Annotated[
        HTTPAuthSecurityScheme | None, Rule(oneof="scheme")
    ] = None
    oauth2_security_scheme: Annotated[
        OAuth2SecurityScheme | None, Rule(oneof="scheme")
    ] = None
    open_id_connect_security_scheme: Annotated[
        OpenIdConnectSecurityScheme | None, Rule(oneof="scheme")
    ] = None
    mtls_security_scheme: Annotated[
        MutualTlsSecurityScheme | None, Rule(oneof="scheme")
    ] = None
