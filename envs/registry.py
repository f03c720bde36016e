"""Worlds by name: `name -> "module:attribute"`, where the attribute is a
`synth.envs.world.EnvEntry`; importing this loads none of them.
"""

ENVS: dict[str, str] = {
    "storefront": "synth.envs.storefront:WORLD",
    "echo": "synth.envs.echo:WORLD",
    "textworld": "synth.envs.textworld:WORLD",
    "mcp": "synth.envs.mcp:WORLD",
    "sql": "synth.envs.sql:WORLD",
    "sql_file": "synth.envs.sql:WORLD_OF_FILE",
    "repo": "synth.envs.repo.world:WORLD",
    "tau2": "synth.envs.tau2:WORLD",
}
LOGGED: dict[str, str] = {"tau2": "tau2"}
"""Worlds that do logged trials again, by how the environment of an imported task begins, up to its
first `/`.
"""
