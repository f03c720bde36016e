"""What `synth curate RUN` does without a flow: looks at what a run holds, and proposes one."""
