"""Tests of JavaScript (node:test) with other expectations, and with other inputs."""
