# Entry point for development and CI. New contributors need only `make demo` and `make test`.

TARGET := wasm32-unknown-unknown
MODULES := target/$(TARGET)/release
# A release with patch numbers is the newest patch release with its behavior.
RELEASES := 1.30 1.31 1.32.6 1.32.9 1.32 1.33.2 1.33.5 1.33 1.34.1 1.34 1.35 1.36.1 1.36 1.37

# Keep paths of the build machine out of the modules' panic messages, and paths of crates short.
CARGO_HOME ?= $(HOME)/.cargo
REMAP := "--remap-path-prefix=$(CURDIR)=.", "--remap-path-prefix=$(CARGO_HOME)=cargo", "--remap-path-prefix=$(CARGO_HOME)/registry/src/index.crates.io-1949cf8c6b5b557f=cargo"
# Ignore the environment's target directory and flags, so that the recipe copies the module that it just built.
WASM_CARGO := env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS CARGO_TARGET_DIR=target cargo --config 'target.$(TARGET).rustflags=[$(REMAP)]'

# Packages that `make test` builds: all except the npm package generator, which has its own target.
TEST_PACKAGES := --workspace --exclude managed-by-js-generator

# Task runner, see xtask/src/main.rs. Built with the features of the tests' dependencies, so that Cargo compiles these only once.
BUILD_XTASK := cargo build --quiet $(TEST_PACKAGES) --bin xtask
XTASK := $(BUILD_XTASK) && $${CARGO_TARGET_DIR:-target}/debug/xtask

RUST_SOURCES := Cargo.toml Cargo.lock rust-toolchain.toml $(shell find src crates/managed-by crates/noop -name '*.rs' -o -name '*.md' -o -name Cargo.toml)

.PHONY: demo test
demo: setup ## Evaluate the requests in examples/ with the built policy
	@$(call in-parallel,$(BUILD_XTASK),policy.wasm)
	@$(MAKE) --no-print-directory annotated-policy.wasm
	@$(XTASK) demo annotated-policy.wasm

test: setup ## Test the library, the module, the CLI and the Go modules
	@$(call in-parallel,cargo test $(TEST_PACKAGES) --quiet --no-run,policy.wasm pods-policy.wasm noop.wasm go/managedby/module.wasm)
	@$(MAKE) --no-print-directory annotated-policy.wasm annotated-pods-policy.wasm target/expected.ndjson
	cargo test $(TEST_PACKAGES) --quiet
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory go-test; else echo "skipped: the Go modules, because go is not on the PATH"; fi

# Run a command and build modules at the same time: most of the time, a build of a module uses one core.
in-parallel = $(1) & $(MAKE) --no-print-directory $(2); status=$$?; wait $$! && exit $$status

.PHONY: setup
setup: # Install the pinned toolchain and the wasm target if they are missing
	@rustup toolchain list | grep -q '^1\.95\.0' || rustup toolchain install --profile minimal --component clippy --component rustfmt 1.95.0
	@rustup target list --installed | grep -q '^$(TARGET)$$' || rustup target add $(TARGET)

policy.wasm: FEATURES :=
policy.wasm: $(RUST_SOURCES) | setup # Build the policy module, without metadata
	$(build-policy)

pods-policy.wasm: FEATURES := pods
pods-policy.wasm: $(RUST_SOURCES) | setup # Build the policy module that looks up Jobs through the host
	$(build-policy)

go/managedby/module.wasm: FEATURES := findings
go/managedby/module.wasm: $(RUST_SOURCES) | setup # Build the policy module with structured findings, which the Go module embeds
	$(build-policy)

# Delete the module first: Cargo considers a module with a different version or different features up to date, because the file name is the same.
define build-policy
@rm -f $(MODULES)/deps/managed_by_policy.wasm
$(WASM_CARGO) build --release --target $(TARGET) --package managed-by-policy --features "$(FEATURES)"
cp $(MODULES)/managed_by_policy.wasm $@
endef

noop.wasm: $(RUST_SOURCES) | setup
	$(WASM_CARGO) build --release --target $(TARGET) --package managed-by-noop
	cp $(MODULES)/managed_by_noop.wasm $@

annotated-policy.wasm: policy.wasm policy-metadata.yml src/usage.md ## Build the policy
	$(annotate)

annotated-pods-policy.wasm: pods-policy.wasm pods/metadata.yml target/readme/pods/README.md # Build the pods policy
	$(annotate)

annotated-noop.wasm: noop.wasm crates/noop/metadata.yml crates/noop/README.md # Build the no-op policy
	$(annotate)

# READMEs as they are published, with absolute links.
target/readme/%: % crates/testing/src/readme.rs | setup
	@mkdir -p $(@D) && $(XTASK) readme $< > $@.new && mv $@.new $@

# Add metadata and the usage text to a module.
define annotate
@if command -v kwctl >/dev/null; then \
	kwctl annotate --metadata-path $(word 2,$^) --usage-path $(word 3,$^) --output-path $@ $<; \
else \
	$(XTASK) annotate $(word 2,$^) $(word 3,$^) $< $@; \
fi
endef

# The requests in examples/ as AdmissionReviews, for kwctl and other programs.
.PHONY: examples
examples: target/examples ## Write the requests in examples/ as AdmissionReviews to target/examples
target/examples: $(wildcard examples/* examples/*/*.y*ml) crates/testing/src/examples.rs | setup
	@rm -rf $@ && $(XTASK) examples $@

# Expected results for the differential tests: the library's verdicts on the examples, the test vectors, the recordings and some generated requests.
target/expected.ndjson: $(RUST_SOURCES) xtask/src/expected.rs $(shell find examples crates/testing/src parity/src parity/vectors parity/traces -type f -not -path '*/target/*')
	@mkdir -p target && $(XTASK) expected $@ 2000 1

# Number of generated requests.
REQUESTS ?= 20000
.PHONY: differential-test
differential-test: export EXPECTED_RESULTS = $(CURDIR)/target/differential-test.ndjson
differential-test: setup annotated-policy.wasm go/managedby/module.wasm npm ## Compare every entry point with the library, on all checked-in requests and on REQUESTS requests generated from SEED (needs Go, node, policy-server)
	@$(XTASK) expected $(EXPECTED_RESULTS) $(REQUESTS) $(SEED)
	@cargo test --quiet --package managed-by-policy --test policy -- differential:: --nocapture --test-threads 1
	@cargo test --quiet --package managed-by-cli --test cli -- differential:: --nocapture --test-threads 1
	@cd go && go test -count 1 -v -timeout 2h -run TestDifferential ./managedby
	@cd crates/js/npm && node --test --test-reporter=spec --test-name-pattern='every request|evaluations equal' test/verdicts.test.mjs
	@$(MAKE) --no-print-directory e2e ONLY=server FILTER="library's responses"

PRINTABLE := crates/managed-by/src/upstream/go/printable.rs
# Tools from PyPI.
PYTHON_TOOLS := target/tools/python/bin
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
.PHONY: verify-fmt lint pre-commit-test verify-msrv verify-generated
verify-fmt: # Fail unless the code is formatted
	cargo fmt --all -- --check

# Lint crates individually too: in a workspace build, feature unification hides missing features.
lint: verify-fmt $(PYTHON_TOOLS)/zizmor ## Check formatting, and run clippy, zizmor, typos and actionlint; warnings are errors
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cargo clippy --package managed-by-policy --test library --quiet -- -D warnings
	for crate in cli parity offline kube; do cargo clippy --package managed-by-$$crate --quiet -- -D warnings || exit 1; done
	cargo clippy --package managed-by-js --target $(TARGET) --quiet -- -D warnings
	cargo clippy --package managed-by-policy --package managed-by-noop --target $(TARGET) --quiet -- -D warnings
	cargo clippy --package managed-by-policy --features pods --target $(TARGET) --quiet -- -D warnings
	cargo clippy --package managed-by-policy --features findings --target $(TARGET) --quiet -- -D warnings
	$(PYTHON_TOOLS)/zizmor --offline --quiet .
	@if command -v helm >/dev/null; then helm lint --quiet --kube-version 1.37 --values $(CHART)/ci/offline-values.yaml $(CHART); else echo "skipped: Helm is not on the PATH"; fi
	@if command -v typos >/dev/null; then typos; else echo "skipped: typos is not on the PATH (cargo install --locked typos-cli)"; fi
	@if command -v go >/dev/null; then go run $(ACTIONLINT); else echo "skipped: actionlint needs Go"; fi

pre-commit-test: setup $(PYTHON_TOOLS)/zizmor # Test the pre-commit hook with pre-commit
	PATH="$(CURDIR)/$(PYTHON_TOOLS):$$PATH" cargo test --quiet $(TEST_PACKAGES) --test cli -- --ignored pre_commit

# Also installs pre-commit.
$(PYTHON_TOOLS)/zizmor:
	python3 -m venv target/tools/python
	$(PYTHON_TOOLS)/pip install --quiet zizmor==1.32.0 pre-commit==4.7.0

# MSRV of the library. The policy is built with the pinned toolchain.
LIBRARY_RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' crates/managed-by/Cargo.toml)
verify-msrv: setup # Check the library and managed-by-kube with their MSRV
	@rustup toolchain list | grep -q '^$(LIBRARY_RUST)' || rustup toolchain install --profile minimal $(LIBRARY_RUST)
	cargo +$(LIBRARY_RUST) check --quiet --package managed-by --package managed-by-kube --target-dir target/msrv
	cargo +$(LIBRARY_RUST) check --quiet --package managed-by --target-dir target/msrv --features k8s-openapi,k8s-openapi/v1_37,lookups

verify-generated: setup # Fail if generated files are out of date (checks Go's character table only if the installed Go has the same Unicode version)
	cargo test --quiet $(TEST_PACKAGES) --bin xtask generated_files_are_up_to_date
	@if command -v go >/dev/null; then \
		mkdir -p target && go run ./parity/printable/main.go > target/printable.rs || exit 1; \
		if [ "$$(grep -o 'Unicode [0-9.]*' target/printable.rs)" = "$$(grep -o 'Unicode [0-9.]*' $(PRINTABLE))" ]; then \
			diff target/printable.rs $(PRINTABLE) || exit 1; \
		fi; \
		$(HELM_DOCS) --dry-run 2>/dev/null | diff - $(CHART)/README.md || { echo "$(CHART)/README.md is out of date, run \`make generate\`"; exit 1; }; \
	fi

CHART := charts/managed-by-policy
HELM_DOCS := go run github.com/norwoodj/helm-docs/cmd/helm-docs@v1.14.2 --chart-search-root charts --sort-values-order file
.PHONY: generate
generate: ## Update generated files: pages, schemas, results in examples, guides and transcripts; with Helm and Go also deploy/ and the chart's README
	@$(XTASK) generate
	@if command -v go >/dev/null; then $(HELM_DOCS) --log-level warning; else echo "skipped: $(CHART)/README.md, because go is not on the PATH"; fi
	UPDATE_EXPECT=1 cargo test --quiet --package managed-by-policy --test library examples::
	UPDATE_EXPECT=1 cargo test --quiet --package managed-by-cli --package managed-by-linter -- transcripts schema_matches_the_code

.PHONY: artifacthub
artifacthub: target/readme/README.md target/readme/pods/README.md # Write the Artifact Hub metadata to target/artifacthub, with the date of the released commit
	@rm -rf target/artifacthub && mkdir -p target/artifacthub/pods
	@cp .github/artifacthub-repo.yml target/readme/README.md target/artifacthub && cp target/readme/pods/README.md target/artifacthub/pods
	@for package in artifacthub-pkg.yml pods/artifacthub-pkg.yml; do \
		sed "/^displayName: /a createdAt: $$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)" $$package > target/artifacthub/$$package; \
	done
	@tar -cf target/artifacthub.tar -C target artifacthub

ORAS := go run oras.land/oras/cmd/oras@v1.3.0
.PHONY: chart artifacthub-owner
chart: # Package the chart for release, in target/chart (needs Helm)
	@mkdir -p target/chart && cp LICENSE $(CHART) && { helm package $(CHART) --destination target/chart; status=$$?; rm $(CHART)/LICENSE; exit $$status; }

artifacthub-owner: # Write the OCI artifact from which Artifact Hub reads the owner of the chart, to target/artifacthub-owner.tar (needs Go)
	@rm -rf target/artifacthub-owner && mkdir -p target/artifacthub-owner && cp .github/artifacthub-repo.yml target/artifacthub-owner
	cd target/artifacthub-owner && $(ORAS) push --oci-layout layout:artifacthub.io --config /dev/null:application/vnd.cncf.artifacthub.config.v1+yaml \
		artifacthub-repo.yml:application/vnd.cncf.artifacthub.repository-metadata.layer.v1.yaml
	tar -cf target/artifacthub-owner.tar -C target/artifacthub-owner/layout .

# Tag to release.
TAG ?= v$(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
.PHONY: release-check
release-check: verify-generated # Fail unless the version, changelog and generated files match the tag TAG, and the suites that CI does not run passed with this code
	@test "$(TAG)" = "v$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)" || { echo "$(TAG) does not match the version in Cargo.toml"; exit 1; }
	@grep -q '^## $(TAG:v%=%) (20[0-9-]*)$$' CHANGELOG.md || { echo "CHANGELOG.md has no section '## $(TAG:v%=%) (DATE)'"; exit 1; }
	@for key in version appVersion; do grep -qx "$$key: $(TAG:v%=%)" $(CHART)/Chart.yaml || { echo "$(TAG) does not match the $$key in $(CHART)/Chart.yaml"; exit 1; }; done
	@! git grep -n '#before-the-first-release' -- '*.md' '*.gotmpl' || { echo "remove the section \"Before the first release\" in docs/tasks/install.md, and the links to it"; exit 1; }
	@! grep -q '^## Unreleased' CHANGELOG.md || { echo "CHANGELOG.md still has an Unreleased section"; exit 1; }
	cargo test --quiet $(TEST_PACKAGES) --test policy -- chart:: deploy:: settings::
	e2e/passed check

# Runs the steps of release.yml that work locally: build, push to a local registry, and install.
.PHONY: release-rehearsal
release-rehearsal: annotated-policy.wasm annotated-pods-policy.wasm chart ## Release to a local registry, and install it (needs the programs for `make e2e ONLY=kubewarden`, and buildah for the image)
	@if command -v buildah >/dev/null; then $(MAKE) --no-print-directory cli-archive cli-image IMAGE=localhost/managed-by; fi
	@e2e/run kubewarden-release

.PHONY: release-text
release-text: # Write the changelog section for TAG, and the SBOM of the sources, to target/ (needs syft)
	@awk '/^## /{in_section = index($$0, "## $(TAG:v%=%) (") == 1; next} in_section' CHANGELOG.md > target/release-notes.md
	syft scan --output spdx-json=target/policy-sbom.spdx.json --source-name managed-by-policy --source-version "$$(git rev-parse HEAD)" --exclude './target/**' dir:.

# Suites that `make e2e` runs by default. `soak` is excluded because it runs for at least ten minutes.
E2E_SUITES := chart kwctl server users tenant tenant-cel outages outages-1.30 outages-1.37 outages-cel cel cel-1.30 cel-1.37 cel-static dropped-field jobs resume resume-gate-off resume-1.30 multikueue conformance status queues kubewarden kubewarden-helm kubewarden-multikueue kubewarden-helm-1.30 kubewarden-helm-1.37
ONLY ?= $(E2E_SUITES)
.PHONY: e2e e2e-kind bench-server check-dependencies verify-reproducible publish-check
e2e: annotated-policy.wasm annotated-pods-policy.wasm annotated-noop.wasm target/expected.ndjson target/examples ## Test with kwctl, PolicyServer and clusters: the suites in ONLY, tests that match FILTER (e2e/README.md)
	@e2e/run $(ONLY)

e2e-kind: annotated-policy.wasm # Install the chart in a kind cluster, alongside Kubewarden's charts (needs docker, kind, helm, kubectl, kwctl, jq)
	@e2e/kind.sh

bench-server: annotated-policy.wasm annotated-noop.wasm ## Benchmark the policy in PolicyServer against a no-op policy (e2e/bench.py), and update docs/explanation/comparison.md
	@python3 e2e/bench.py

OPENAPI := v1_33 v1_34 v1_35 v1_36 v1_37
publish-check: setup # Check that the crates can be published, and that the library builds with each API version of k8s-openapi
	cargo publish --dry-run --allow-dirty --quiet --package managed-by --package managed-by-kube
	for version in $(OPENAPI); do \
		cargo check --quiet --package managed-by --features k8s-openapi,k8s-openapi/$$version || exit 1; \
	done

# Without access to GitHub: `make check-dependencies DENY="bans licenses sources"`.
DENY ?=
check-dependencies: # Check licenses, sources and advisories of the dependencies (needs cargo-deny)
	cargo deny --workspace check --config .cargo/deny.toml $(DENY)

COPY := target/reproducible/another-directory
verify-reproducible: policy.wasm ## Build the module in another directory and compare the bytes
	@rm -rf $(COPY) && mkdir -p $(COPY)
	@git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents --target-directory $(COPY)
	@$(MAKE) --silent --directory $(COPY) policy.wasm
	cmp policy.wasm $(COPY)/policy.wasm && echo "reproducible: $$(sha256sum < policy.wasm | cut -d ' ' -f 1)"

.PHONY: cli cli-archive cli-image krew-manifest bench-cli
cli: setup ## Build the CLI: target/native/managed-by
	cargo build --quiet --profile native --package managed-by-cli

# Target triple of the host.
RUST_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
CLI_ARCHIVE = managed-by-$(VERSION)-$(RUST_HOST)
# On Linux, link libc statically, so that the binary runs on every distribution.
CLI_CARGO = cargo $(if $(findstring linux,$(RUST_HOST)),--config 'target.$(RUST_HOST).rustflags=["-Ctarget-feature=+crt-static"]')

cli-archive: setup # Build the release archive of the CLI for this host, with man page and shell completions, in target/archive
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
cli-image: # Build the multi-arch image IMAGE, and target/image.tar, from the Linux archives in target/archive (needs buildah)
	rm -rf target/image && mkdir -p target/image
	if buildah manifest exists $(IMAGE); then buildah manifest rm $(IMAGE); fi
	buildah manifest create $(IMAGE)
	for platform in amd64:x86_64 arm64:aarch64; do \
		archive=target/archive/managed-by-$(VERSION)-$${platform#*:}-unknown-linux-gnu.tar.gz; arch=$${platform%:*}; \
		test -e $$archive || { echo "skipped: $$archive does not exist"; continue; }; \
		mkdir target/image/$$arch && tar -xzf $$archive --strip-components 1 -C target/image/$$arch && \
		buildah build --quiet --platform linux/$$arch --manifest $(IMAGE) --file crates/cli/Containerfile target/image || exit 1; \
	done
	rm -f target/image.tar && buildah manifest push --quiet --all $(IMAGE) oci-archive:target/image.tar

krew-manifest: # Write the Krew manifest for the archives in target/archive
	@set -e; manifest=target/archive/managed-by.yaml; sed 's/VERSION/$(VERSION)/g; /^#/d' crates/cli/krew.yml > $$manifest; \
	for host in $$(sed -n 's/.*SHA256-\([^"]*\).*/\1/p' crates/cli/krew.yml); do \
		sum=$$(cut -d ' ' -f 1 target/archive/managed-by-$(VERSION)-$$host.tar.gz.sha256); \
		sed "s/SHA256-$$host/$$sum/" $$manifest > $$manifest.new && mv $$manifest.new $$manifest; \
	done; echo $$manifest

bench-cli: setup ## Benchmark the CLI against jq and yq, and update docs/explanation/comparison.md (needs jq and mikefarah/yq)
	cargo build --quiet --profile dist --package managed-by-cli
	@python3 crates/cli/benches/bench.py

JS_GENERATOR := cargo run --quiet --package managed-by-js-generator --
JS_SOURCES := $(shell find crates/js/src crates/offline/src -name '*.rs') crates/js/Cargo.toml crates/offline/Cargo.toml

.PHONY: npm npm-archive npm-test playground playground-test playground-build
npm: crates/js/npm/generated/managed_by.wasm crates/js/node_modules ## Build the npm package in target/npm (needs node)
	node crates/js/npm/build.mjs

npm-archive: npm # Pack the npm package in target/npm-archive
	mkdir -p target/npm-archive && npm pack --silent --pack-destination target/npm-archive ./target/npm

BUNDLERS := vite8 webpack5
npm-test: npm target/expected.ndjson $(BUNDLERS:%=crates/js/npm/bundlers/%/node_modules) ## Test the npm package (needs node)
	node --test --test-reporter=spec crates/js/npm/test/*.test.mjs

playground: playground-build ## Serve the playground on localhost
	node crates/js/playground/build.mjs --serve

playground-test: playground-build target/expected.ndjson ## Test the playground in Chromium or BROWSER
	node --test --test-reporter=spec crates/js/playground/test/*.test.mjs

playground-build: npm target/examples
	node crates/js/playground/build.mjs

# Build only the cdylib: if the crate is also built as an rlib, Cargo disables link-time optimization and the module is 20% larger. Visitors
# to the page download the module, so wasm-opt shrinks it by another 5%. The enabled features are rustc's defaults.
WASM_OPT := crates/js/node_modules/.bin/wasm-opt -Oz --enable-bulk-memory --enable-multivalue --enable-mutable-globals \
	--enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext
crates/js/npm/generated/managed_by.wasm: $(RUST_SOURCES) $(JS_SOURCES) docs/settings.schema.json $(shell find crates/js/generator -name '*.rs' -o -name Cargo.toml) crates/js/node_modules | setup
	$(WASM_CARGO) rustc --lib --crate-type cdylib --profile js --target $(TARGET) --package managed-by-js
	@$(JS_GENERATOR) target/$(TARGET)/js/managed_by_js.wasm crates/js/npm/generated
	@$(WASM_OPT) $@ -o $@

crates/js/node_modules: crates/js/package-lock.json
	cd crates/js && npm ci --ignore-scripts --silent && touch node_modules

# Without lock files, so that the tests use the newest dependencies of the bundlers.
$(BUNDLERS:%=crates/js/npm/bundlers/%/node_modules): %/node_modules: %/package.json
	cd $* && npm install --ignore-scripts --silent && touch node_modules

.PHONY: update-parity verify-parity parity-random match-conditions-upstream oracle
update-parity: oracle ## Update the test vectors with kube-apiserver's code (needs Go)
	cargo run --quiet --package managed-by-parity -- update

verify-parity: oracle # Fail if the test vectors are out of date
	cargo run --quiet --package managed-by-parity -- verify

CASES ?= 100000
SEED ?= 1
parity-random: oracle ## Compare the library with kube-apiserver's code on CASES cases generated from SEED (needs Go)
	cargo run --quiet --profile random --package managed-by-parity -- random $(CASES) $(SEED) $(RELEASES)
	cargo run --quiet --profile random --package managed-by-parity -- random --patches $(CASES) $(SEED) $(RELEASES)
	cargo run --quiet --profile random --package managed-by-parity -- changes $(CASES) $(SEED)

BETA := 1.38
.PHONY: parity-beta
parity-beta: parity/oracle/bin/$(BETA) # Compare the library's newest release with kube-apiserver's code of the next one, on CASES cases generated from SEED (needs Go)
	mkdir -p target/beta && ln -sf $(CURDIR)/$< target/beta/$(lastword $(RELEASES))
	ORACLES=target/beta cargo run --quiet --profile random --package managed-by-parity -- random $(CASES) $(SEED) $(lastword $(RELEASES))

.PHONY: patches
patches: # Find the patch releases of Kubernetes with other rules than their predecessor (needs Go)
	go run ./parity/patches/main.go

MATCH_CASES := $(CURDIR)/target/match-cases.ndjson
match-conditions-upstream: # Evaluate the shipped matchConditions with kube-apiserver's matcher, on the requests of the Rust test (needs Go and Helm)
	$(XTASK) render target/rendered
	MATCH_CASES=$(MATCH_CASES) cargo test --quiet --package xtask --test conditions
	cd parity/oracle && for release in 1.30 1.37; do \
		MATCH_CASES=$(MATCH_CASES) go test -count 1 -v -modfile=v$$release.mod -tags v$$(echo $$release | tr . _) ./conditions || exit 1; \
	done

# Releases whose CEL environments differ.
CEL_RELEASES ?= 1.30 1.36 1.37
.PHONY: cel-upstream
cel-upstream: export EXPECTED_RESULTS = $(CURDIR)/target/cel.ndjson
cel-upstream: # Compare the chart's ValidatingAdmissionPolicies with the library, using kube-apiserver's code, on all checked-in requests and on REQUESTS requests generated from SEED (needs Go and Helm)
	$(XTASK) render target/rendered
	$(XTASK) expected $(EXPECTED_RESULTS) $(REQUESTS) $(SEED)
	cd parity/oracle && for release in $(CEL_RELEASES); do \
		go test -count 1 -v -timeout 2h -modfile=v$$release.mod -tags v$$(echo $$release | tr . _) -run 'TestPolicies|TestCosts' ./conditions || exit 1; \
	done

# The Go module, and separate modules for users of controller-runtime, and of the conformance suite.
GO_MODULES := go go/managedbyclient go/conformance
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
.PHONY: go-test go-race go-envtest go-lint go-fuzz go-tag
go-test: go/managedby/module.wasm noop.wasm target/expected.ndjson ## Test the Go modules (needs Go)
	for module in $(GO_MODULES); do (cd $$module && go test ./...) || exit 1; done
	cd go/envtest && go test ./ginkgo

go-race: go/managedby/module.wasm noop.wasm # Run the concurrency tests of the Go module with the race detector (needs Go and a C compiler)
	cd go && go test -race -run 'Concurrent|Context|Guest|Memory' ./managedby

go-envtest: setup go/managedby/module.wasm # Test the wrapped client and the conformance suite (most of the time, it waits) against a real kube-apiserver (needs Go, and kube-apiserver and etcd on the PATH)
	@if command -v kube-apiserver >/dev/null && command -v etcd >/dev/null; then \
		cargo test --quiet --no-run $(TEST_PACKAGES) --test cli && cd go/envtest && go test -parallel 8 .; \
	else \
		echo "skipped: kube-apiserver or etcd is not on the PATH"; \
	fi

go-lint: go/managedby/module.wasm # Check the Go modules with gofmt, vet and staticcheck (needs Go)
	@unformatted=$$(gofmt -l go); test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	for module in $(GO_MODULES) go/envtest; do (cd $$module && go mod tidy -diff && go vet ./... && go run $(STATICCHECK) ./...) || exit 1; done

go-fuzz: go/managedby/module.wasm # Fuzz the Go module for SECONDS (needs Go)
	cd go && go test -run '^$$' -fuzz FuzzReview -fuzztime $(SECONDS)s -fuzzminimizetime 20x ./managedby

# Go fetches modules from the tagged commit, so the tags point to a commit that contains the built policy, which main does not. The branch and
# the working tree stay unchanged.
go-tag: go/managedby/module.wasm # Commit the built policy on top of HEAD, and tag that commit as go/TAG, go/managedbyclient/TAG and go/conformance/TAG
	@export GIT_INDEX_FILE=$$(mktemp -u); trap 'rm -f "$$GIT_INDEX_FILE"' EXIT; set -e; \
	git read-tree HEAD; \
	git update-index --add --cacheinfo "100644,$$(git hash-object -w $<),$<"; \
	commit=$$(git commit-tree -p HEAD -m "go: add the built policy module for $(TAG)" "$$(git write-tree)"); \
	for module in $(GO_MODULES); do git tag $$module/$(TAG) $$commit; echo "$$module/$(TAG) $$commit"; done

SECONDS ?= 60
.PHONY: fuzz
fuzz: target/examples ## Fuzz the library for SECONDS (needs cargo-fuzz and jq)
	@mkdir -p fuzz/corpus/review
	@for example in target/examples/*/*.json; do \
		(echo '{}'; jq -c .request $$example) > fuzz/corpus/review/$$(basename $$example); \
	done
	cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run review -- -max_total_time=$(SECONDS) -max_len=65536

.PHONY: mutation-test
mutation-test: ## Run mutation tests of the library, all or SHARD=0/52 (needs cargo-mutants)
	CARGO_TARGET_DIR=$(CURDIR)/target cargo mutants --package managed-by --baseline skip --timeout 300 --output target $(if $(SHARD),--shard $(SHARD) --sharding round-robin)

oracle: $(RELEASES:%=parity/oracle/bin/%)

parity/oracle/bin/%: $(wildcard parity/oracle/*.go parity/oracle/*.mod) parity/oracle/v%.sum parity/oracle/build.sh
	parity/oracle/build.sh $*

# The oldest and the newest release. Only kube-apiserver's Job packages are instrumented, so that their coverage guides the fuzzer.
FUZZ_RELEASES := $(firstword $(RELEASES)) $(lastword $(RELEASES))
FUZZ_TARGETS := FuzzJob FuzzText
INSTRUMENT := -gcflags=k8s.io/kubernetes/pkg/registry/batch/job=-d=libfuzzer -gcflags=k8s.io/kubernetes/pkg/apis/batch/...=-d=libfuzzer
.PHONY: fuzz-upstream coverage-upstream
coverage-upstream: # Print how much of kube-apiserver's Job status code the test vectors, CASES cases generated from SEED and the corpus cover (needs Go)
	@for release in $(FUZZ_RELEASES); do echo "$$release"; parity/oracle/coverage.sh $$release $(CASES) $(SEED) || exit 1; done

# Before 1.27, Go sometimes fails when the time is over (go.dev/issue/75804). The second run starts with a failing input of the first one,
# which Go stores in testdata/.
fuzz-upstream: go/managedby/module.wasm $(FUZZ_RELEASES:%=parity/oracle/bin/fuzz-%) ## Fuzz the policy against kube-apiserver's code for SECONDS (needs Go)
	@fuzz() { bin/fuzz-$$release -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzzcachedir bin/corpus -test.fuzzminimizetime 20x \
		-test.fuzztime "$$(($(SECONDS) / $(words $(FUZZ_RELEASES)) / $(words $(FUZZ_TARGETS))))s"; }; \
	cd parity/oracle && for release in $(FUZZ_RELEASES); do for target in $(FUZZ_TARGETS); do echo "$$target, $$release"; \
		fuzz || fuzz || exit 1; \
	done; done

parity/oracle/bin/fuzz-%: $(wildcard parity/oracle/*.go) parity/oracle/v%.mod parity/oracle/v%.sum
	cd parity/oracle && go test -c -modfile=v$*.mod -o bin/fuzz-$* $(INSTRUMENT) .

.PHONY: update-kubectl-results
update-kubectl-results: # Update the expected results in parity/kubectl/results.ndjson with kubectl's decoder (needs Go)
	cd parity/kubectl && go run . < results.ndjson > results.new && mv results.new results.ndjson

# Not a rule for the file: in a fresh clone, timestamps say nothing, and Go may be missing or have another version of Unicode.
.PHONY: update-printable
update-printable: # Update the table of characters that are printable in Go (needs Go)
	go run ./parity/printable/main.go > target/printable.rs && cp target/printable.rs $(PRINTABLE)

.PHONY: book record-demo
MDBOOK := $(or $(shell command -v mdbook),target/tools/bin/mdbook)
WEBHOOK_CALLS := $(CURDIR)/target/webhook-calls.tsv
book: $(MDBOOK) ## Build the documentation in target/book/html; fail on broken links (needs Helm)
	@command -v helm >/dev/null || { echo "helm is not on the PATH"; exit 1; }
	@WEBHOOK_CALLS=$(WEBHOOK_CALLS) cargo test --quiet --package xtask --test conditions -- rejected_examples >/dev/null
	@$(XTASK) book $(MDBOOK) $(WEBHOOK_CALLS)

target/tools/bin/mdbook:
	cargo install --quiet --locked --root target/tools --no-default-features --features search mdbook@0.5.4

record-demo: annotated-policy.wasm annotated-pods-policy.wasm # Record the denial in README.md in a real cluster (same requirements as `make e2e ONLY=kubewarden`)
	@RECORD=1 FILTER='^readme: ' e2e/run kubewarden

.PHONY: help clean
help: ## List the targets
	@sed -n 's/^\([a-z0-9./-]*\):.*## /\1: /p' $(MAKEFILE_LIST) | sort

clean: ## Remove build artifacts
	cargo clean
	rm -f policy.wasm pods-policy.wasm noop.wasm annotated-policy.wasm annotated-pods-policy.wasm annotated-noop.wasm
