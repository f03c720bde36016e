"""True labels of storefront episodes: what the agent knew when it wrote, denied and read."""
