"""Actions that a model wrote into its text, as the calls that they were."""
