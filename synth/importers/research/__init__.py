"""Results and labels of research benchmarks."""
