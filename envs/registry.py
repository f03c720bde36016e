"""Worlds by name: `name -> "module:attribute"`, where the attribute is an `envs.world.World`; importing this loads none of them."""

ENVS: dict[str, str] = {
    "storefront": "envs.storefront:WORLD",
    "echo": "envs.echo:WORLD",
    "textworld": "envs.textworld:WORLD",
    "mcp": "envs.mcp:WORLD",
}
