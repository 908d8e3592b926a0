# One command file; CI only calls it. `make demo` and `make test` are all that a newcomer needs.

TARGET := wasm32-unknown-unknown
MODULES := target/$(TARGET)/release
RELEASES := 1.30 1.31 1.32 1.33 1.34 1.35 1.36 1.37

# Paths of the building machine would otherwise stand in the modules' panic messages.
CARGO_HOME ?= $(HOME)/.cargo
REMAP := "--remap-path-prefix=$(CURDIR)=.", "--remap-path-prefix=$(CARGO_HOME)=cargo"
# Neither another folder nor other flags than these: what is copied is what was built.
WASM_CARGO := env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS CARGO_TARGET_DIR=target cargo --config 'target.$(TARGET).rustflags=[$(REMAP)]'

# What runs behind some targets, see xtask/src/main.rs.
XTASK := cargo run --quiet --package xtask --

# What `make test` builds: not the tool that makes the npm package, which has a target of its own.
TESTED := --workspace --exclude managed-by-js-generator

RUST_SOURCES := Cargo.toml Cargo.lock rust-toolchain.toml $(shell find src crates/managed-by crates/noop -name '*.rs' -o -name Cargo.toml)

.PHONY: demo test
demo: setup annotated-policy.wasm ## Evaluate the requests in examples/ with the built policy
	@$(XTASK) demo annotated-policy.wasm examples

test: setup annotated-policy.wasm annotated-pods-policy.wasm noop.wasm go/managedby/module.wasm target/answers.ndjson ## Run the tests of the library, the module, the command line and the Go modules
	cargo test $(TESTED) --quiet
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory go-test; else echo "skipped: the Go module in go/, because there is no Go here"; fi

.PHONY: setup
setup: # Install the pinned toolchain and the wasm target where they are missing
	@rustup toolchain list | grep -q '^1\.95\.0' || rustup toolchain install --profile minimal --component clippy --component rustfmt 1.95.0
	@rustup target list --installed | grep -q '^$(TARGET)$$' || rustup target add $(TARGET)

policy.wasm: FEATURES :=
policy.wasm: $(RUST_SOURCES) | setup # The module, as built
	$(build-policy)

pods-policy.wasm: FEATURES := pods
pods-policy.wasm: $(RUST_SOURCES) | setup # The same with what looks Jobs up through the host
	$(build-policy)

go/managedby/module.wasm: FEATURES := findings
go/managedby/module.wasm: $(RUST_SOURCES) | setup # The same with findings as data, which the Go module embeds
	$(build-policy)

# Cargo takes a module of another version or with other features for up to date, because its name is the same.
define build-policy
@rm -f $(MODULES)/deps/managed_by_policy.wasm
$(WASM_CARGO) build --release --target $(TARGET) --package managed-by-policy --features "$(FEATURES)"
cp $(MODULES)/managed_by_policy.wasm $@
endef

noop.wasm: $(RUST_SOURCES) | setup
	$(WASM_CARGO) build --release --target $(TARGET) --package managed-by-noop
	cp $(MODULES)/managed_by_noop.wasm $@

annotated-policy.wasm: policy.wasm policy-metadata.yml README.md ## Build the policy
	$(annotate)

annotated-pods-policy.wasm: pods-policy.wasm pods/metadata.yml pods/README.md # The same for the policy that looks at pods and reads Jobs
	$(annotate)

annotated-noop.wasm: noop.wasm crates/noop/metadata.yml crates/noop/README.md # The same for the policy that does nothing
	$(annotate)

# From module, metadata and README.
define annotate
@if command -v kwctl >/dev/null; then \
	kwctl annotate --metadata-path $(word 2,$^) --usage-path $(word 3,$^) --output-path $@ $<; \
else \
	$(XTASK) annotate $(word 2,$^) $(word 3,$^) $< $@; \
fi
endef

# The library's answers to the examples, the vectors, the recordings and some generated requests, for the differential tests.
target/answers.ndjson: $(RUST_SOURCES) xtask/src/answers.rs $(shell find examples crates/testing/src parity/src parity/vectors parity/traces -type f -not -path '*/target/*')
	@mkdir -p target && $(XTASK) answers $@ 2000 1

# Generated requests.
REQUESTS ?= 20000
.PHONY: differential-test
differential-test: export ANSWERS = $(CURDIR)/target/differential-test.ndjson
differential-test: setup annotated-policy.wasm go/managedby/module.wasm npm ## Compare every entry point with the library, on all kept requests and REQUESTS generated ones from SEED (needs Go, node, policy-server)
	@$(XTASK) answers $(ANSWERS) $(REQUESTS) $(SEED)
	@cargo test --quiet --package managed-by-policy --test policy -- differential:: --nocapture --test-threads 1
	@cargo test --quiet --package managed-by-cli --test cli -- differential:: --nocapture --test-threads 1
	@cd go && go test -count 1 -v -timeout 2h -run TestDifferential ./managedby
	@cd crates/js/npm && node --test --test-reporter=spec --test-name-pattern='every request|of each release' test/verdicts.test.mjs test/guest.test.mjs
	@$(MAKE) --no-print-directory e2e ONLY=server FILTER="library's answers"

PRINTABLE := crates/managed-by/src/upstream/go/printable.rs
# The tools that are written for Python's package index.
PYTHON_TOOLS := target/tools/python/bin
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
.PHONY: fmt lint hook-test rust-version generated
fmt: # Fail unless the code is formatted
	cargo fmt --all -- --check

# Alone and without the tests' dependencies, a crate may lack a feature that another one lends it.
lint: fmt $(PYTHON_TOOLS)/zizmor ## Check the format, and run clippy, zizmor, typos and actionlint; warnings are errors
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cargo clippy --package managed-by-policy --test library --quiet -- -D warnings
	for crate in cli parity report offline; do cargo clippy --package managed-by-$$crate --quiet -- -D warnings || exit 1; done
	cargo clippy --package managed-by-js --target $(TARGET) --quiet -- -D warnings
	cargo clippy --package managed-by-policy --package managed-by-noop --target $(TARGET) --quiet -- -D warnings
	cargo clippy --package managed-by-policy --features pods --target $(TARGET) --quiet -- -D warnings
	cargo clippy --package managed-by-policy --features findings --target $(TARGET) --quiet -- -D warnings
	$(PYTHON_TOOLS)/zizmor --offline --quiet .
	@if command -v helm >/dev/null; then helm lint --quiet --kube-version 1.37 --values $(CHART)/ci/offline-values.yaml $(CHART); else echo "skipped: Helm is not on the PATH"; fi
	@if command -v typos >/dev/null; then typos; else echo "skipped: typos is not on the PATH (cargo install --locked typos-cli)"; fi
	@if command -v go >/dev/null; then go run $(ACTIONLINT); else echo "skipped: actionlint needs Go"; fi

hook-test: setup $(PYTHON_TOOLS)/zizmor # Run the hook for pre-commit with pre-commit itself
	PATH="$(CURDIR)/$(PYTHON_TOOLS):$$PATH" cargo test --quiet $(TESTED) --test cli -- --ignored pre_commit

# With pre-commit beside it.
$(PYTHON_TOOLS)/zizmor:
	python3 -m venv target/tools/python
	$(PYTHON_TOOLS)/pip install --quiet zizmor==1.32.0 pre-commit==4.7.0

# The library has users of its own, who may have an older compiler than the one that builds the policy.
LIBRARY_RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' crates/managed-by/Cargo.toml)
rust-version: setup # Check the library with the oldest compiler that it promises
	@rustup toolchain list | grep -q '^$(LIBRARY_RUST)' || rustup toolchain install --profile minimal $(LIBRARY_RUST)
	cargo +$(LIBRARY_RUST) check --quiet --package managed-by --target-dir target/rust-version
	cargo +$(LIBRARY_RUST) check --quiet --package managed-by --target-dir target/rust-version --features k8s-openapi,k8s-openapi/v1_37

generated: setup # Fail if a generated file would change (Go's table only where a Go with the same Unicode is installed)
	@$(XTASK) generate --check
	@if command -v go >/dev/null; then \
		mkdir -p target && go run ./parity/printable/main.go > target/printable.rs && \
		if [ "$$(grep -o 'Unicode [0-9.]*' target/printable.rs)" = "$$(grep -o 'Unicode [0-9.]*' $(PRINTABLE))" ]; then \
			diff target/printable.rs $(PRINTABLE); \
		fi; \
		$(HELM_DOCS) --dry-run 2>/dev/null | diff - $(CHART)/README.md || { echo "$(CHART)/README.md is not as generated, run \`make docs\`"; exit 1; }; \
	fi

CHART := charts/managed-by-policy
HELM_DOCS := go run github.com/norwoodj/helm-docs/cmd/helm-docs@v1.14.2 --chart-search-root charts --sort-values-order file
.PHONY: docs
docs: ## Write the generated files: pages, schemas, answers in examples, guides, transcripts, and with Helm and Go the manifests in deploy/ and the chart's page
	UPDATE_EXPECT=1 cargo test --quiet --package xtask --test conditions
	@$(XTASK) generate
	@if command -v go >/dev/null; then $(HELM_DOCS) --log-level warning; else echo "skipped: $(CHART)/README.md, because there is no Go here"; fi
	UPDATE_EXAMPLES=1 cargo test --quiet --package managed-by-policy --test library examples::
	UPDATE_GUIDE=1 cargo test --quiet --package xtask --test status_guide
	UPDATE_CLI=1 cargo test --quiet --package managed-by-cli transcripts

.PHONY: artifacthub
artifacthub: # Write what Artifact Hub reads to target/artifacthub, with the time of the released commit
	@rm -rf target/artifacthub && mkdir -p target/artifacthub/pods
	@cp artifacthub-repo.yml README.md target/artifacthub && cp pods/README.md target/artifacthub/pods
	@for package in artifacthub-pkg.yml pods/artifacthub-pkg.yml; do \
		sed "/^displayName: /a createdAt: $$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)" $$package > target/artifacthub/$$package; \
	done

CHARTS ?= ghcr.io/managed-by-policy/charts
ORAS := go run oras.land/oras/cmd/oras@v1.3.0
.PHONY: chart artifacthub-chart
chart: # The chart as it is released, in target/chart (needs Helm)
	@mkdir -p target/chart && cp LICENSE $(CHART) && { helm package $(CHART) --destination target/chart; status=$$?; rm $(CHART)/LICENSE; exit $$status; }

artifacthub-chart: # Push to CHARTS what Artifact Hub reads about its owner (needs Go)
	@mkdir -p target/artifacthub-chart && cp artifacthub-repo.yml target/artifacthub-chart
	cd target/artifacthub-chart && $(ORAS) push $(ORAS_FLAGS) $(CHARTS)/managed-by-policy:artifacthub.io --config /dev/null:application/vnd.cncf.artifacthub.config.v1+yaml \
		artifacthub-repo.yml:application/vnd.cncf.artifacthub.repository-metadata.layer.v1.yaml

# The tag that is to be released.
TAG ?= v$(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
.PHONY: release-check
release-check: generated # Fail unless version, changelog and generated files agree with the tag TAG
	@test "$(TAG)" = "v$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)" || { echo "$(TAG) is not the version of Cargo.toml"; exit 1; }
	@grep -q '^## $(TAG:v%=%) (20[0-9-]*)$$' CHANGELOG.md || { echo "CHANGELOG.md has no section '## $(TAG:v%=%) (DATE)'"; exit 1; }
	@for key in version appVersion; do grep -qx "$$key: $(TAG:v%=%)" $(CHART)/Chart.yaml || { echo "$(TAG) is not the $$key of $(CHART)/Chart.yaml"; exit 1; }; done
	@! grep -q '^## Unreleased' CHANGELOG.md || { echo "CHANGELOG.md has changes that are not released"; exit 1; }
	cargo test --quiet $(TESTED) --test policy -- chart:: deploy:: docs:: settings::

# What release.yml does, as far as this machine can: build and push, sign with a key that is thrown away, verify, and install from there.
.PHONY: release-rehearsal
release-rehearsal: annotated-policy.wasm annotated-pods-policy.wasm chart ## Release to a registry of this machine, verify and install it (needs what `make e2e ONLY=kubewarden` needs, cosign, and buildah for the image)
	@if command -v buildah >/dev/null; then $(MAKE) --no-print-directory cli-archive cli-image IMAGE=localhost/managed-by; fi
	@e2e/run kubewarden-release

.PHONY: release-notes
release-notes: # Print what the changelog says of TAG
	@awk '/^## /{of = index($$0, "## $(TAG:v%=%) (") == 1; next} of' CHANGELOG.md

# The files of e2e/ that `make e2e` runs if ONLY names none. `soak` runs for ten minutes or longer.
E2E_PARTS := chart kwctl server people tenant outages outages-1.30 outages-1.37 dropped-field jobs resume resume-gate-off resume-1.30 multikueue kubewarden kubewarden-helm kubewarden-helm-1.30 kubewarden-helm-1.37
ONLY ?= $(E2E_PARTS)
.PHONY: e2e e2e-kind bench-server deny reproducible rust-controller publish-check
e2e: annotated-policy.wasm annotated-pods-policy.wasm annotated-noop.wasm target/answers.ndjson ## Test with kwctl, PolicyServer and clusters: the parts in ONLY, tests that match FILTER (docs/testing.md)
	@e2e/run $(ONLY)

e2e-kind: annotated-policy.wasm # Install the chart in a cluster of kind beside Kubewarden's (needs docker, kind, helm, kubectl, kwctl)
	@e2e/kind.sh

bench-server: annotated-policy.wasm annotated-noop.wasm ## Measure the policy in PolicyServer beside one that does nothing, and write docs/performance.md
	@python3 e2e/bench.py

rust-controller: setup # Test the example of a controller, against every release (a workspace of its own)
	CARGO_PROFILE_DEV_DEBUG=0 cargo test --quiet --manifest-path examples/rust-controller/Cargo.toml

OPENAPI := v1_33 v1_34 v1_35 v1_36 v1_37
publish-check: setup # See that the library can be published, and works with each API version of k8s-openapi
	cargo publish --dry-run --allow-dirty --quiet --package managed-by
	for version in $(OPENAPI); do \
		cargo check --quiet --package managed-by --features k8s-openapi,k8s-openapi/$$version || exit 1; \
	done

# Where GitHub is out of reach: `make deny DENY="bans licenses sources"`.
DENY ?=
deny: # Check licences, sources and advisories of the dependencies (needs cargo-deny)
	cargo deny --workspace check $(DENY)

COPY := target/reproducible/another-folder
reproducible: policy.wasm ## Build the module in another folder and compare the bytes
	@rm -rf $(COPY) && mkdir -p $(COPY)
	@git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents --target-directory $(COPY)
	@$(MAKE) --silent --directory $(COPY) policy.wasm
	cmp policy.wasm $(COPY)/policy.wasm && echo "the same bytes twice: $$(sha256sum < policy.wasm | cut -d ' ' -f 1)"

.PHONY: cli cli-archive cli-image krew bench-cli
cli: setup ## Build the command line: target/native/managed-by
	cargo build --quiet --profile native --package managed-by-cli

# The name of this machine, as the compiler calls it.
RUST_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
CLI_ARCHIVE = managed-by-$(VERSION)-$(RUST_HOST)
# On Linux the program holds the C library, so that it runs wherever there is a kernel.
CLI_CARGO = cargo $(if $(findstring linux,$(RUST_HOST)),--config 'target.$(RUST_HOST).rustflags=["-Ctarget-feature=+crt-static"]')

cli-archive: setup # The command line for this machine as it is released, with its manual and completions, in target/archive
	$(CLI_CARGO) build --quiet --locked --profile dist --target $(RUST_HOST) --package managed-by-cli
	rm -rf target/archive/$(CLI_ARCHIVE)
	mkdir -p target/archive/$(CLI_ARCHIVE)/man target/archive/$(CLI_ARCHIVE)/completions
	cp target/$(RUST_HOST)/dist/managed-by LICENSE target/archive/$(CLI_ARCHIVE)
	target/archive/$(CLI_ARCHIVE)/managed-by man > target/archive/$(CLI_ARCHIVE)/man/managed-by.1
	for shell in bash zsh fish powershell elvish; do target/archive/$(CLI_ARCHIVE)/managed-by completions $$shell > target/archive/$(CLI_ARCHIVE)/completions/managed-by.$$shell || exit 1; done
	COPYFILE_DISABLE=1 tar -C target/archive -czf target/archive/$(CLI_ARCHIVE).tar.gz $(CLI_ARCHIVE)
	cd target/archive && shasum -a 256 $(CLI_ARCHIVE).tar.gz > $(CLI_ARCHIVE).tar.gz.sha256
	@ls -l target/archive/$(CLI_ARCHIVE).tar.gz

IMAGE ?= managed-by
cli-image: # The Linux archives in target/archive as an image for their machines, IMAGE (needs buildah)
	rm -rf target/image && mkdir -p target/image
	if buildah manifest exists $(IMAGE); then buildah manifest rm $(IMAGE); fi
	buildah manifest create $(IMAGE)
	for of in amd64:x86_64 arm64:aarch64; do \
		archive=target/archive/managed-by-$(VERSION)-$${of#*:}-unknown-linux-gnu.tar.gz; arch=$${of%:*}; \
		test -e $$archive || { echo "skipped: there is no $$archive"; continue; }; \
		mkdir target/image/$$arch && tar -xzf $$archive --strip-components 1 -C target/image/$$arch && \
		buildah build --quiet --platform linux/$$arch --manifest $(IMAGE) --file crates/cli/Containerfile target/image || exit 1; \
	done

krew: # The manifest for Krew of the archives in target/archive, beside them
	@set -e; manifest=target/archive/managed-by.yaml; sed 's/VERSION/$(VERSION)/g; /^#/d' crates/cli/krew.yml > $$manifest; \
	for host in $$(sed -n 's/.*SHA256-\([^"]*\).*/\1/p' crates/cli/krew.yml); do \
		sum=$$(cut -d ' ' -f 1 target/archive/managed-by-$(VERSION)-$$host.tar.gz.sha256); \
		sed "s/SHA256-$$host/$$sum/" $$manifest > $$manifest.new && mv $$manifest.new $$manifest; \
	done; echo $$manifest

bench-cli: setup ## Measure the command line beside jq and yq, and write docs/performance.md (needs jq and the Go program yq)
	cargo build --quiet --profile dist --package managed-by-cli
	@python3 crates/cli/benches/programs.py

JS_GENERATOR := cargo run --quiet --package managed-by-js-generator --
JS_SOURCES := $(shell find crates/js/src crates/offline/src -name '*.rs') crates/js/Cargo.toml crates/offline/Cargo.toml

.PHONY: npm npm-test playground playground-test playground-build
npm: crates/js/npm/generated/managed_by.wasm crates/js/npm/node_modules ## Build the npm package in target/npm (needs node)
	cd crates/js/npm && npm run --silent build

BUNDLERS := vite6 vite7 vite8 webpack5
npm-test: npm target/answers.ndjson annotated-policy.wasm go/managedby/module.wasm $(BUNDLERS:%=crates/js/npm/bundlers/%/node_modules) ## Test the npm package (needs node)
	cd crates/js/npm && npm test --silent

playground: playground-build ## Serve the playground on localhost, and rebuild it on changes
	cd crates/js/playground && npm run --silent serve

playground-test: playground-build target/answers.ndjson ## Test the playground in Chromium or BROWSER
	cd crates/js/playground && npm test --silent

playground-build: npm crates/js/playground/node_modules
	cd crates/js/playground && npm run --silent build

# A module alone: of a crate that is a library for Rust too, cargo makes one without link-time optimisation, a fifth larger. Whoever opens the
# page fetches the module, so wasm-opt makes it 5 % smaller. The features are those that rustc uses by default.
WASM_OPT := crates/js/npm/node_modules/.bin/wasm-opt -Oz --enable-bulk-memory --enable-multivalue --enable-mutable-globals \
	--enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext
crates/js/npm/generated/managed_by.wasm: $(RUST_SOURCES) $(JS_SOURCES) docs/settings.schema.json $(shell find crates/js/generator -name '*.rs' -o -name Cargo.toml) crates/js/npm/node_modules | setup
	$(WASM_CARGO) rustc --lib --crate-type cdylib --profile js --target $(TARGET) --package managed-by-js
	@$(JS_GENERATOR) target/$(TARGET)/js/managed_by_js.wasm crates/js/npm/generated
	@$(WASM_OPT) $@ -o $@

crates/js/npm/node_modules crates/js/playground/node_modules $(BUNDLERS:%=crates/js/npm/bundlers/%/node_modules): %/node_modules: %/package-lock.json
	cd $* && npm ci --ignore-scripts --silent && touch node_modules

.PHONY: fuel-update
fuel-update: annotated-policy.wasm noop.wasm ## Update the recorded fuel and size
	UPDATE_COSTS=1 cargo test --quiet $(TESTED) --test policy costs::

.PHONY: parity parity-verify parity-live match-conditions-upstream oracle
parity: oracle ## Write the vectors with kube-apiserver's code (needs Go)
	cargo run --quiet --package managed-by-parity -- update

parity-verify: oracle # Fail if that would change them
	cargo run --quiet --package managed-by-parity -- verify

CASES ?= 100000
SEED ?= 1
parity-live: oracle ## Compare the library with kube-apiserver's code on CASES generated cases from SEED (needs Go)
	cargo run --quiet --profile live --package managed-by-parity -- live $(CASES) $(SEED) $(RELEASES)

QUESTIONS := $(CURDIR)/target/questions.ndjson
match-conditions-upstream: # Put the matchConditions of deploy/ to kube-apiserver's own matcher, with the requests of the test in Rust (needs Go)
	QUESTIONS=$(QUESTIONS) cargo test --quiet --package xtask --test conditions
	cd parity/oracle && for release in 1.30 1.37; do \
		QUESTIONS=$(QUESTIONS) go test -count 1 -v -modfile=v$$release.mod -tags v$$(echo $$release | tr . _) ./conditions || exit 1; \
	done

.PHONY: cel-upstream
cel-upstream: export ANSWERS = $(CURDIR)/target/cel.ndjson
cel-upstream: # Compare the chart's ValidatingAdmissionPolicies with the library by kube-apiserver's code, on all kept requests and REQUESTS generated ones from SEED (needs Go)
	$(XTASK) answers $(ANSWERS) $(REQUESTS) $(SEED)
	cd parity/oracle && for release in 1.30 1.36 1.37; do \
		go test -count 1 -v -timeout 2h -modfile=v$$release.mod -tags v$$(echo $$release | tr . _) -run 'TestPolicies|TestCosts' ./conditions || exit 1; \
	done

# The Go module, and the one for controller-runtime, which others need not take.
GO_MODULES := go go/managedbyclient
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
.PHONY: go-test go-race go-envtest go-lint go-bench go-fuzz go-tag
go-test: go/managedby/module.wasm noop.wasm target/answers.ndjson ## Test the Go modules (needs Go)
	for module in $(GO_MODULES); do (cd $$module && go test ./...) || exit 1; done

go-race: go/managedby/module.wasm noop.wasm # What runs at once in the Go module, under Go's race detector (needs Go and a C compiler)
	cd go && go test -race -run 'AtOnce|Context|Guest|Memory' ./managedby

go-envtest: go/managedby/module.wasm # Hold the wrapped client to a real kube-apiserver (needs Go, and kube-apiserver and etcd on the PATH)
	@if command -v kube-apiserver >/dev/null && command -v etcd >/dev/null; then \
		cd go/envtest && go test ./...; \
	else \
		echo "skipped: there is no kube-apiserver here, or no etcd"; \
	fi

go-lint: go/managedby/module.wasm # Format, vet and staticcheck of the Go module (needs Go)
	@unformatted=$$(gofmt -l go); test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	for module in $(GO_MODULES) go/envtest; do (cd $$module && go mod tidy -diff && go vet ./... && go run $(STATICCHECK) ./...) || exit 1; done

go-bench: go/managedby/module.wasm noop.wasm # Time the Go module on one core, beside a policy that does nothing (needs Go)
	cd go && go test -run '^$$' -bench . -cpu 1 ./managedby

go-fuzz: go/managedby/module.wasm # Feed the Go module bytes of all kinds for SECONDS (needs Go)
	cd go && go test -run '^$$' -fuzz FuzzReview -fuzztime $(SECONDS)s -fuzzminimizetime 20x ./managedby

# A Go module is what a tag holds, so the tags are on a commit that has the policy too; main has none. Neither the branch nor the folder changes.
go-tag: go/managedby/module.wasm # Tag HEAD with the built policy for Go: go/TAG and go/managedbyclient/TAG
	@export GIT_INDEX_FILE=$$(mktemp -u); trap 'rm -f "$$GIT_INDEX_FILE"' EXIT; set -e; \
	git read-tree HEAD; \
	git update-index --add --cacheinfo "100644,$$(git hash-object -w $<),$<"; \
	commit=$$(git commit-tree -p HEAD -m "Carry the policy for Go, $(TAG)" "$$(git write-tree)"); \
	for module in $(GO_MODULES); do git tag $$module/$(TAG) $$commit; echo "$$module/$(TAG) $$commit"; done

SECONDS ?= 60
.PHONY: fuzz
fuzz: ## Fuzz the library for SECONDS (needs cargo-fuzz and jq)
	@mkdir -p fuzz/corpus/review
	@for example in examples/*/*.json; do \
		(echo '{}'; jq -c .request $$example) > fuzz/corpus/review/$$(basename $$example); \
	done
	cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run review -- -max_total_time=$(SECONDS) -max_len=65536

.PHONY: mutants
mutants: ## Run mutation tests of the library, all or SHARD=0/52 (needs cargo-mutants)
	CARGO_TARGET_DIR=$(CURDIR)/target cargo mutants --package managed-by --baseline skip --timeout 300 --output target $(if $(SHARD),--shard $(SHARD) --sharding round-robin)

oracle: $(RELEASES:%=parity/oracle/bin/%)

parity/oracle/bin/%: $(wildcard parity/oracle/*.go) parity/oracle/v%.mod parity/oracle/v%.sum
	cd parity/oracle && go build -modfile=v$*.mod -o bin/$* .

# The oldest release and the newest. New branches of what kube-apiserver has for Jobs lead the fuzzer, so nothing else is instrumented.
FUZZED := $(firstword $(RELEASES)) $(lastword $(RELEASES))
FUZZ_TARGETS := FuzzJob FuzzText
INSTRUMENT := -gcflags=k8s.io/kubernetes/pkg/registry/batch/job=-d=libfuzzer -gcflags=k8s.io/kubernetes/pkg/apis/batch/...=-d=libfuzzer
.PHONY: fuzz-upstream coverage-upstream
coverage-upstream: # How much of kube-apiserver's code for a Job's status the vectors, CASES generated cases from SEED and the corpus reach (needs Go)
	@for release in $(FUZZED); do echo "$$release"; parity/oracle/coverage.sh $$release $(CASES) $(SEED) || exit 1; done

fuzz-upstream: go/managedby/module.wasm $(FUZZED:%=parity/oracle/bin/fuzz-%) ## Fuzz the policy against kube-apiserver's code for SECONDS (needs Go)
	@cd parity/oracle && for release in $(FUZZED); do for target in $(FUZZ_TARGETS); do echo "$$target, $$release"; \
		bin/fuzz-$$release -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzzcachedir bin/corpus -test.fuzzminimizetime 20x \
			-test.fuzztime "$$(($(SECONDS) / $(words $(FUZZED)) / $(words $(FUZZ_TARGETS))))s" || exit 1; \
	done; done

parity/oracle/bin/fuzz-%: $(wildcard parity/oracle/*.go) parity/oracle/v%.mod parity/oracle/v%.sum
	cd parity/oracle && go test -c -modfile=v$*.mod -o bin/fuzz-$* $(INSTRUMENT) .

.PHONY: kubectl-answers
kubectl-answers: # Ask kubectl's own decoder the rows of parity/kubectl/answers.ndjson, and write its answers there (needs Go)
	cd parity/kubectl && go run . < answers.ndjson > answers.new && mv answers.new answers.ndjson

$(PRINTABLE): parity/printable/main.go ## Go's table of printable characters (needs Go)
	go run $< > $@

.PHONY: book record
MDBOOK := $(or $(shell command -v mdbook),target/tools/bin/mdbook)
HOME_PAGE := https://github.com/managed-by-policy/managed-by-policy
ROOT_PAGES := README|CONTRIBUTING|SECURITY|SUPPORT|CODE_OF_CONDUCT|CHANGELOG
# A link leads to the page in the site if it is there, else to the file on GitHub.
book: $(MDBOOK) ## Build the documentation in target/book/html; a dead link is an error
	@rm -rf target/book && mkdir -p target/book && cp -r docs target/book/src
	@cp $(addsuffix .md,$(subst |, ,$(ROOT_PAGES))) target/book/src && cp pods/README.md target/book/src/pods.md
	@cd target/book/src && mv README.md index.md && mv rules/README.md rules/index.md && rm book.toml
	@perl -pi -e 's{\]\((docs/|$(HOME_PAGE)/(blob|tree)/main/docs/|https://raw\.githubusercontent\.com/[^()]*/main/docs/)}{](}g;' \
		-e 's{\]\((\.\./|$(HOME_PAGE)/blob/main/)(($(ROOT_PAGES))\.md)}{]($$2}g;' \
		-e 's{\]\((rules/)?README\.md}{]($$1index.md}g;' \
		-e 's{\]\(\.\./([^).]+)\)}{]($(HOME_PAGE)/tree/main/$$1)}g;' \
		-e 's{\]\((\.\./|(?=deploy/))}{]($(HOME_PAGE)/blob/main/}g' target/book/src/*.md
	@$(MDBOOK) build docs
	@cd target/book/html && ! grep -rHoE '(href|src)="[^":#]+[#"]' --include='*.html' . | sed -E 's/(href|src)="//; s/.$$//' | sort -u | \
		while IFS=: read -r page link; do case $$link in \
			/*|playground/*) ;; \
			*) test -e "$${page%/*}/$$link" || echo "$$page: $$link";; \
		esac; done | grep .

target/tools/bin/mdbook:
	cargo install --quiet --locked --root target/tools --no-default-features --features search mdbook@0.5.4

record: annotated-policy.wasm annotated-pods-policy.wasm # Record the Job of the README and of docs/operations.md in a real cluster (needs what `make e2e ONLY=kubewarden` needs)
	@RECORD=1 FILTER='^readme: ' e2e/run kubewarden
	@echo "docs/pictures/first-screen.svg has the date and the versions. If a test finds that the text differs, draw it."

.PHONY: help clean
help: ## List the targets
	@sed -n 's/^\([a-z0-9./-]*\):.*## /\1: /p' $(MAKEFILE_LIST) | sort

clean: ## Remove build artifacts
	cargo clean
	rm -f policy.wasm pods-policy.wasm noop.wasm annotated-policy.wasm annotated-pods-policy.wasm annotated-noop.wasm
