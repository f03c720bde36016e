# Every target sets itself up: a virtual environment in .venv, pinned by constraints.txt.
PYTHON ?= python3
BIN = .venv/bin
CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/synth
VLLM = $(CACHE)/vllm-$(firstword $(shell cksum tests/vllm/requirements.txt))
SCORE = $(CACHE)/score-$(firstword $(shell cat constraints.txt pyproject.toml | cksum))
MCP = $(CACHE)/mcp-$(firstword $(shell cat tests/envs/mcp/servers/package.json tests/envs/mcp/servers/requirements.txt | cksum))
TRAIN = $(CACHE)/train-$(firstword $(shell cat constraints.txt pyproject.toml tests/trainers/no-deps.txt | cksum))
LOADERS = $(CACHE)/loaders-$(firstword $(shell cat tests/trainers/loaders.txt tests/trainers/loaders-no-deps.txt | cksum))
RAY = $(CACHE)/ray-$(firstword $(shell cat constraints.txt pyproject.toml | cksum))
VERIFIERS = $(CACHE)/verifiers-$(firstword $(shell cksum tests/verifiers/requirements.txt))

.PHONY: quickstart test test-slow ray-smoke chaos vllm-smoke lint bench clean

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

quickstart: .venv/.ready  ## storefront, 46 tasks x 8 trials, retries, injected failures, a dataset, a report: no GPU, key or server
	$(BIN)/synth run configs/quickstart.yaml

test: .venv/.ready  ## unit tests, under two minutes
	$(BIN)/python -m pytest -n auto

$(SCORE)/.ready:
	rm -rf $(SCORE)
	$(PYTHON) -m venv $(SCORE)
	$(SCORE)/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt '.[score,embed,test]'
	$(SCORE)/bin/python -m pip uninstall -q -y synth-trajectories  # its dependencies stay; the checkout itself is what is tested
	rm -rf build
	@touch $@

$(TRAIN)/.ready:
	rm -rf $(TRAIN)
	$(PYTHON) -m venv $(TRAIN)
	$(TRAIN)/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt '.[train,test]'
	$(TRAIN)/bin/python -m pip install -q --disable-pip-version-check --no-deps -r tests/trainers/no-deps.txt
	$(TRAIN)/bin/python -m pip uninstall -q -y synth-trajectories  # its dependencies stay; the checkout itself is what is tested
	rm -rf build
	@touch $@

$(LOADERS)/.ready:  # LLaMA-Factory and verl without what they need of a GPU; torchaudio without its compiled part, which is built for CUDA only
	rm -rf $(LOADERS)
	$(PYTHON) -m venv $(LOADERS)
	$(LOADERS)/bin/python -m pip install -q --disable-pip-version-check -r tests/trainers/loaders.txt
	$(LOADERS)/bin/python -m pip install -q --disable-pip-version-check --no-deps -r tests/trainers/loaders-no-deps.txt
	rm -f $(LOADERS)/lib/python*/site-packages/torchaudio/lib/*.so
	@touch $@

$(MCP)/.ready: | .venv/.ready  # public MCP servers, where there is npm and the system's own Python; without one its tests say that they are left out
	rm -rf $(MCP)
	mkdir -p $(MCP)
	cp tests/envs/mcp/servers/package.json $(MCP)
	command -v npm > /dev/null && npm install --silent --no-audit --no-fund --prefix $(MCP) || echo "no npm: its MCP servers are not tested"
	test -x /usr/bin/python3 && $(BIN)/python -m pip --python /usr/bin/python3 install -q --disable-pip-version-check --target $(MCP)/python \
		-r tests/envs/mcp/servers/requirements.txt || echo "no /usr/bin/python3: the MCP server from pip is not tested"
	@touch $@

$(VERIFIERS)/.ready:
	rm -rf $(VERIFIERS)
	$(PYTHON) -m venv $(VERIFIERS)
	$(VERIFIERS)/bin/python -m pip install -q --disable-pip-version-check -r tests/verifiers/requirements.txt
	@touch $@

test-train: .venv/.ready $(TRAIN)/.ready $(LOADERS)/.ready $(VERIFIERS)/.ready  ## TRL, Axolotl, LLaMA-Factory, verl and verifiers on exported data sets, small models, CPU; environments of their own
	SYNTH_LOADERS_PYTHON=$(LOADERS)/bin/python $(TRAIN)/bin/python -m pytest -m slow tests/trainers tests/every_kind/test_export.py tests/synth/exporters/test_training.py tests/synth/exporters/test_rendering.py tests/synth/exporters/proof
	SYNTH_VERIFIERS_PYTHON=$(VERIFIERS)/bin/python $(BIN)/python -m pytest -m slow tests/verifiers

test-slow: .venv/.ready $(SCORE)/.ready $(MCP)/.ready  ## kill tests, a real Prefect server: some minutes; small models and embeddings with torch in an environment of its own
	SYNTH_MCP_SERVERS=$(MCP) $(BIN)/python -m pytest -m slow
	$(SCORE)/bin/python -m pytest tests/synth/models/test_transformers_*.py tests/synth/topology/test_semantic_*.py

chaos: .venv/.ready  ## faults planned and survived, about nine minutes: kills, full and slow disks, storms, flipped bits; SYNTH_CHAOS_SEED draws others
	$(BIN)/python -m pytest -m chaos tests/chaos

$(RAY)/.ready:
	rm -rf $(RAY)
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt '.[ray,s3,test]' 'moto[server]'
	$(RAY)/bin/python -m pip uninstall -q -y synth-trajectories  # its dependencies stay; the checkout itself is what is tested
	rm -rf build
	@touch $@

ray-smoke: $(RAY)/.ready  ## many machines, four minutes: a Ray cluster of two nodes, one of them killed, and runs that share only a bucket of a local S3 server
	$(RAY)/bin/python -m pytest -m slow tests/flows/test_ray.py tests/synth/leases tests/synth/hub/test_from_object_storage.py

$(VLLM)/.ready:
	rm -rf $(VLLM)
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install -q --disable-pip-version-check -r tests/vllm/requirements.txt
	$(VLLM)/bin/python -m pip uninstall -q -y torchvision torchaudio torchcodec  # their operators do not load with its torch
	@touch $@

vllm-smoke: .venv/.ready $(VLLM)/.ready  ## our engine against vLLM's CPU build, in an environment of its own (3.5 GB, kept in ~/.cache/synth)
	SYNTH_VLLM_PYTHON=$(VLLM)/bin/python $(BIN)/python -m pytest -m vllm tests/vllm

lint: .venv/.ready  ## ruff, mypy --strict, architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py

bench: .venv/.ready  ## every measured claim of docs/performance.md
	$(BIN)/python -m benchmarks

clean:  ## the environment and the runs of this checkout
	rm -rf .venv runs
