# `make help` lists what there is. Tools are pinned in test/tools and built from Go modules, once, into a cache outside the tree.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

IMG ?= ghcr.io/etcdsteward/etcd-steward:dev
IMG_TAG = $(lastword $(subst :, ,$(IMG)))
VERSION ?= $(or $(shell git describe --tags --always --dirty 2>/dev/null),dev)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
ARCH ?= $(shell go env GOARCH)
# Nodes of localkube, its families of addresses, its Kubernetes, and feature gates and APIs (--runtime-config) that Kubernetes does
# not have by default (3, IPv4, what each change is tested on and none, if it is not up), stories at a time, and two filters of stories: a Ginkgo label query, and a regular expression of the text. On two cores four stories at a time
# hold back each other's writes for seconds, and take longer than three.
NODES ?=
FAMILIES ?=
KUBERNETES ?=
GATES ?=
APIS ?=
PROCS ?= 3
GROUP ?=
STORY ?=
# The directory into which the story with a real Prometheus draws the dashboards, such as docs/pictures. Empty: it does not.
PICTURES ?=
# Recipes read from the environment what people type: a name may have an apostrophe.
export GROUP STORY PICTURES ONLY REF

LOCALKUBE := $(CURDIR)/bin/localkube
SHAPE = $(NODES:%=--nodes %) $(FAMILIES:%=--ip-families %) $(KUBERNETES:%=--kubernetes %) \
	$(GATES:%=--feature-gates %) $(APIS:%=--runtime-config %)
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/etcd-steward
# kubectl of this machine with its current context, or localkube's own where there is none.
KUBECTL ?= $(or $(shell command -v kubectl),$(LOCALKUBE) kubectl)
# By another name, so that `make -n` of a target that starts others does not run it.
SUBMAKE = $(MAKE)
BIN := $(CURDIR)/bin
# The gate starts one S3 server. A full run also starts one that has nothing in common with it, one of GCS, and where there
# is npm one of Azure's blobs.
S3_SERVER := bin/s3/versitygw
export S3_BINARIES ?= $(BIN)/s3
MORE_SERVERS := bin/s3/rclone bin/gcs/fake-gcs-server $(if $(shell command -v npm),bin/azure/azurite-blob)
export GCS_BINARIES ?= $(BIN)/gcs
ifneq ($(filter bin/azure/%,$(MORE_SERVERS)),)
export AZURE_BINARIES ?= $(BIN)/azure
endif
# The engine of Argo CD, which stories run against the cluster. Only a full run has it.
GITOPS := bin/gitops/argocd-engine
export GITOPS_BINARIES ?= $(BIN)/gitops
# What reads the alerts and dashboards in a story. Only a full run has it.
export PROMETHEUS ?= $(BIN)/prometheus
# What docs/recipes.md runs. The first build of Traefik takes longer than a command of a page may.
CONSUMERS := bin/consumers/coredns bin/consumers/traefik bin/consumers/patroni.tar
# Where no etcd is built yet, nothing is tried on a real one, and CI fails.
WITH_ETCD = if [ -n "$$(ls bin/etcd)" ]; then export ETCD_BINARIES=$(BIN)/etcd; else \
	echo "nothing is tried on real etcd: build it first (make etcd)"; fi;
# The stories, built once for running and listing them. They run beside the files that they read.
E2E_TEST := $(CURDIR)/test/e2e/e2e.test
IMAGE_TAR := bin/etcd-steward-image.tar
LDFLAGS = -s -w -buildid= -X main.version=$(VERSION) -X github.com/etcdsteward/etcd-steward/controllers/pages.version=$(VERSION)
GO_BUILD = go build -ldflags "$(LDFLAGS)"

# All is compiled once, tests as what is shipped, and for every folder: a new clone finds it in Go's cache.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath -buildvcs=false,$(GOFLAGS)) -trimpath -buildvcs=false)
# golangci-lint has looked at all that vet looks at. A test that hangs is reported long before CI's time is over.
# Tests collect their garbage seldom: most of what the planner's tests do is to make small worlds and forget them.
GO_TEST = GOGC=1600 go test -vet=off -timeout=12m
# Races are looked for where goroutines are started, which takes cgo; `make test-race` looks everywhere. With it comes a check
# of pointers, which bbolt fails by design where it reads a damaged file.
RACE := $(if $(or $(CI),$(shell command -v "$$(go env CC)")),-race -gcflags=go.etcd.io/bbolt/...=-d=checkptr=0)
RACE_TEST = $(if $(RACE),CGO_ENABLED=1) $(GO_TEST) $(RACE)
RACED := controllers/observe cmd/agent controllers/kit controllers/kit/jobs pkg/etcdutil/client pkg/etcdutil/client/dial \
	pkg/etcdutil/fake pkg/pki test/e2e/client test/e2e/world
# These run without: Azure's SDK rewinds a body while net/http may still send it, and memory is bounded in what is shipped.
NOT_RACED := ^(TestAnAzureThatFailsIsNamedAndHoldsNoBackup|TestMemoryStaysBoundedAtAnySize)$$
# Programs that only tests use are linked without what a debugger reads, which is a third of the work of linking.
STRIPPED := -ldflags='-s -w'
# These start real servers: all of them and every release of etcd with FULL=1, which `make test-all` sets.
SERVED := pkg/backup pkg/backup/store pkg/etcdutil/contract test/s3server
# These and the simulator only compute: nothing in them waits or looks at a clock. The gate runs them beside the core stories,
# which mostly wait. The longest begin.
COMPUTED := controllers/cluster controllers/plan controllers/plan/ahead controllers/report controllers/schedule controllers/scheduleplan
# These have targets of their own. What tests the bench and the demo is tested with them.
APART := controllers/plan/world test/arrows test/docwords test/needs test/mutants test/docs test/e2e test/e2e/report test/bench test/demo \
	test/trust test/gcsserver test/azureserver
# These try each of many moments or chances: the gate some of them, and all with FULL=1.
STRIDING := controllers/admission controllers/apply controllers/cluster controllers/observe controllers/report controllers/scheduleplan
# These need a real API server, and run beside the core stories. Their packages are linked once, before both: that takes longer
# than they do.
ON_SERVER := ^TestARealServer
WITH_SERVER := controllers/admission controllers/apply test/policy

##@ Everyday

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z][a-z0-9-]*:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# kubectl looks for the file kubectl-etcd_steward when it is asked for etcd-steward.
.PHONY: build
build: ## Build every program into bin/.
	@for dir in $(sort $(wildcard cmd/*)); do $(GO_BUILD) -o bin/$$(basename $$dir | sed 's/etcd-/etcd_/') ./$$dir; done

.PHONY: site
site: bin/hugo ## Render the pages as a site into bin/site, beside the versions that are there, and follow every link.
	@go run -C test/tools ./site -root $(CURDIR) -hugo $(BIN)/hugo -out '$(abspath $(or $(SITE),bin/site))' -version '$(VERSION)'

.PHONY: fmt
fmt: ## Format the Go code.
	@gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')

.PHONY: lint
lint: bin/golangci-lint ## Run golangci-lint on the three modules.
	@bin/golangci-lint run ./...
	@cd test/tools && $(BIN)/golangci-lint run ./...
	@cd test/localkube && $(BIN)/golangci-lint run ./...

.PHONY: generate
generate: bin/controller-gen bin/crd-ref-docs ## Regenerate deep copies, the API reference and the dashboards.
	@bin/controller-gen object paths=./api/...
	@go run -C test/tools ./dashboards
	@mkdir -p docs/reference
	@$(call api-reference,docs/reference/api.md)

.PHONY: pictures
pictures: bin/d2 ## Draw the pictures of the pages anew, from docs/pictures/*.d2.
	@$(call draw,docs/pictures)

.PHONY: manifests
manifests: bin/controller-gen ## Regenerate the CRDs and the operator's role, and what the Helm chart and OLM's bundle have of config.
	@bin/controller-gen crd paths=./api/... output:crd:dir=config/crd/bases
	@bin/controller-gen rbac:roleName=manager-role paths=./controllers/... output:rbac:dir=config/rbac
	@$(call chart,$(CURDIR)/config/helm/etcd-steward)
	@$(call olm,$(CURDIR)/config/olm)

.PHONY: clean
clean: ## Remove what was built; the caches outside the tree stay.
	@rm -rf bin dist test/reports $(E2E_TEST) $(REPORT_TEST)

##@ Tests

.PHONY: check
check: tables check-tree ## The cheap tests that need nothing: formatting, files, arrows, words, tables, pages; then lint.

.PHONY: check-tree
check-tree:
	@$(SUBMAKE) --keep-going --jobs=2 --output-sync=target pages gofmt verify-generated verify-kustomize arrows words lint

.PHONY: test-unit
test-unit: ## What needs no cluster, with real etcd and a real store.
	@$(SUBMAKE) --keep-going --jobs=3 --output-sync=target $(PROMPT) $(COMPUTING)

# What waits for servers, looks at clocks or looks for races. Three at a time: each begins with a package that keeps one core busy
# for long, and none of those may be left alone at the end.
.PHONY: test-prompt
test-prompt:
	@$(SUBMAKE) --keep-going --jobs=3 --output-sync=target $(PROMPT)
PROMPT := test-plain test-raced test-server test-localkube

.PHONY: test-computed
test-computed:
	@$(SUBMAKE) --keep-going --jobs=2 --output-sync=target $(COMPUTING)
COMPUTING := test-packages test-world

.PHONY: test
test: fit ## The gate, which CI runs: every phase even if one fails, then all failures.
	@$(GATE) tools check-tree+bin/tests localkube-build test-prompt test-core+test-computed
GATE = go run ./test/gate -lock '$(CACHE)/gate.lock'

.PHONY: test-all
test-all: fit ## What the gate leaves out, and every story; GROUP=growth (a label query) or STORY=... (a text): those stories alone.
	@$(if $(GROUP)$(STORY),$(SUBMAKE) $(if $(filter-out kubernetes,$(GROUP))$(STORY),test-stories,test-kubernetes),$(GATE) localkube-build test-full test-stories test-families test-helm3 test-kubernetes test-arm64)

.PHONY: test-race
test-race: bin/etcd bin/promtool bin/helm $(S3_SERVER) $(MORE_SERVERS) ## Unit tests again, looking for races everywhere.
	@$(WITH_ETCD) $(RACE_TEST) -timeout=60m -skip='$(NOT_RACED)|$(ON_SERVER)' $$(go list ./... | grep -v '/test/e2e$$')
	@cd test/tools && $(RACE_TEST) -count=1 ./...
	@cd test/localkube && $(RACE_TEST) ./...

.PHONY: soak
soak: ## The simulator under every hazard, with new seeds, for MINUTES=10 at idle priority; KIND=mixed, STRICT=1 fails for findings.
	@mkdir -p bin test/reports/findings
	@go test -vet=off -c -o bin/world.test ./controllers/plan/world
	@cd controllers/plan/world && nice -n 19 $(BIN)/world.test -test.run='^TestSoak$$' -test.timeout=0 -minutes=$(MINUTES) \
		-first=$(or $(FIRST),$$(date +%s)) -findings=$(CURDIR)/test/reports/findings $(if $(STRICT),-strict) $(KIND:%=-only %)
MINUTES ?= 10

.PHONY: test-docs
test-docs: $(LOCALKUBE) bin/s3/versitygw bin/helm $(if $(filter-out %recipes.md,$(PAGES)),,$(CONSUMERS)) ## Every command of README.md and docs on localkube, or those of PAGES="docs/backup.md".
	@$(call on-operator,go run ./test/docs -s3 $(S3_BINARIES) $(PAGES))

# The images that docs/air-gapped.md has its readers copy; on a cluster of yours, copy them.
.PHONY: push-images
push-images:
	@[ -z "$${LOCALKUBE:-}" ] || $(LOCALKUBE) push $(IMAGE_TAR)
	@[ -z "$${LOCALKUBE:-}" ] || $(LOCALKUBE) push

# Programs of others that pages run, each as the image that its page names: localkube's own API server, and what is built from
# modules. A cluster of yours pulls them.
.PHONY: load-kube-apiserver load-coredns load-traefik load-patroni
load-kube-apiserver:
	@$(call load-program,docs/kubernetes.md,kube-apiserver,/usr/local/bin/kube-apiserver,$$($(LOCALKUBE) binary kube-apiserver))
load-coredns: bin/consumers/coredns
	@$(call load-program,docs/recipes.md,coredns,/coredns,$<)
load-traefik: bin/consumers/traefik
	@$(call load-program,docs/recipes.md,traefik,/traefik,$<)

load-patroni: bin/consumers/patroni.tar
	@[ -z "$${LOCALKUBE:-}" ] || $(LOCALKUBE) load $<

# $(call load-program,page,last part of the image's name,program in the image,file)
define load-program
[ -z "$${LOCALKUBE:-}" ] || { temp=$$(mktemp -d); trap 'rm -rf "$$temp"' EXIT; \
	image=$$(sed -n 's|.* image: \(.*$(2):[^ ]*\).*|\1|p' $(1) | head -1); \
	go run -C test/tools ./image -out "$$temp/$(2).tar" -tag "$$image" -arch $(ARCH) -entrypoint $(3) $(3)="$$(realpath $(4))"; \
	$(LOCALKUBE) load "$$temp/$(2).tar"; }
endef

.PHONY: stories
stories: $(E2E_TEST) ## The table of stories: group, what is proven, last duration.
	@E2E_TEST=$(E2E_TEST) go run ./test/e2e/stories

.PHONY: corpus
corpus: ## Write down anew what the planner answers in all small worlds and stories.
	@$(GO_TEST) -count=1 -run='$(CORPUS)' ./controllers/plan -update
	@cd controllers/plan/world && $(GO_TEST) -count=1 -run='$(CORPUS)' . -update

.PHONY: corpus-diff
corpus-diff: ## Print the first answers of the planner that differ from those of REF=main.
	@temp=$$(mktemp -d); trap 'git worktree remove --force $$temp/tree; rm -rf $$temp' EXIT; \
	git worktree add -q --detach $$temp/tree "$$REF" && mkdir $$temp/before $$temp/now && \
	for package in controllers/plan controllers/plan/world; do \
		(cd $$temp/tree/$$package && CORPUS_ANSWERS=$$temp/before $(GO_TEST) -count=1 -run='$(CORPUS)' .) >/dev/null || true; \
		(cd $$package && CORPUS_ANSWERS=$$temp/now $(GO_TEST) -count=1 -run='$(CORPUS)' .) >/dev/null || true; \
	done; \
	for answers in $$temp/now/*; do \
		[ -e $$temp/before/$${answers##*/} ] || { echo "$$REF answers nothing: it has no corpus, or does not compile"; exit 1; }; \
		diff -U0 -I '^  ' $$temp/before/$${answers##*/} $$answers | head -40 || true; \
	done
REF = main
CORPUS = ^TestNextIsHarmless|^TestEachRowAndEachWorld|^TestNoStoryViolates

.PHONY: mutants
mutants: bin/etcd bin/helm $(S3_SERVER) ## Seed known bugs one at a time, or those of ONLY=guard,peers; prints killed / total.
	@$(WITH_ETCD) go run ./test/mutants $(if $(ONLY),-only "$$ONLY")

.PHONY: bench
bench: $(LOCALKUBE) bin/s3/versitygw ## Speed and cost against their floors, as JSON and a table; FLAGS="-figures backup" for some.
	@$(GO_TEST) ./test/bench
	@$(call on-operator,go run ./test/bench $(FLAGS))

# ROWS="resize replace" are those rows alone. The judgement comes after what was measured, however that ended, and its table says
# what has no figures. A directory that has a report already is left alone.
.PHONY: report
report: $(LOCALKUBE) bin/ginkgo ## What clients notice of faults and changes, judged by etcd's own model; ROWS=…, RUNS=1, REPORT=….
	@[ -z "$$(ls -A $(REPORT_INTO) 2>/dev/null)" ] || { echo "there is a report in $(REPORT_INTO): move it, or name another by REPORT=…"; exit 1; }
	@mkdir -p $(REPORT_INTO); go build -C test/histories -o $(BIN)/histories .
	@go test -vet=off $(STRIPPED) -c -o $(REPORT_TEST) ./test/e2e/report
	@$(call on-operator,export REPORT=$(REPORT_INTO) ROWS='$(ROWS)' RUNS='$(RUNS)' VERSION='$(VERSION)'; \
		bin/ginkgo --timeout=$$((25 * $(RUNS)))m --output-dir=$(REPORT_INTO) --json-report=stories.json $(REPORT_TEST) || failed=1; \
		bin/histories $(REPORT_INTO) || failed=1; [ -z "$${failed:-}" ])
REPORT ?= bin/report
REPORT_INTO = '$(abspath $(REPORT))'
REPORT_TEST := test/e2e/report/report.test
ROWS ?=
RUNS ?= 1

.PHONY: demo
demo: fit $(LOCALKUBE) $(if $(BACKUP),$(S3_SERVER)) ## From nothing to a healing etcd cluster on this machine (Linux, root); BACKUP=1 backs it up.
	@$(LOCALKUBE) up --etcd $(DEMO_ETCD) $(NODES:%=--nodes %)
	@$(SUBMAKE) localkube-deploy
	@go run ./test/demo -kubectl 'bin/localkube kubectl' -sample $(SAMPLE) $(if $(BACKUP),-s3 $(S3_BINARIES))
SAMPLE := config/samples/etcdcluster.yaml
DEMO_ETCD = $(shell awk '$$1 == "version:" {gsub(/["v]/, "", $$2); print $$2}' $(SAMPLE))

##@ Operator

.PHONY: image
image: ## Write bin/etcd-steward-image.tar (docker-archive), without Docker.
	@mkdir -p bin/image/$(ARCH) && GOOS=linux GOARCH=$(ARCH) $(GO_BUILD) -o bin/image/$(ARCH)/ $(IMAGE_PROGRAMS:%=./%)
	@go run -C test/tools ./image -out $(CURDIR)/$(IMAGE_TAR) -tag $(IMG) -arch $(ARCH) -version '$(VERSION)' -revision '$(REVISION)' \
		-entrypoint /manager $(foreach dir,$(IMAGE_PROGRAMS),/$(notdir $(dir))=$(CURDIR)/bin/image/$(ARCH)/$(notdir $(dir)))
IMAGE_PROGRAMS := $(wildcard cmd/manager cmd/agent)

.PHONY: install
install: bin/kustomize ## Install the CRDs in the cluster kubectl points at.
	@bin/kustomize build config/crd | $(KUBECTL) apply -f -

.PHONY: uninstall
uninstall: bin/kustomize ## Remove the CRDs, and with them every EtcdCluster.
	@bin/kustomize build config/crd | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: deploy
deploy: dist/install.yaml ## Install CRDs and operator (IMG=...) in the cluster kubectl points at.
	@$(KUBECTL) apply -f dist/install.yaml
	@[ -z "$(RESTART)" ] || $(KUBECTL) -n etcd-steward-system rollout restart deployment/etcd-steward-controller-manager
	@$(KUBECTL) -n etcd-steward-system rollout status deployment/etcd-steward-controller-manager --timeout=120s

.PHONY: undeploy
undeploy: dist/install.yaml ## Remove operator and CRDs, and with them every EtcdCluster.
	@$(KUBECTL) delete --ignore-not-found -f dist/install.yaml

.PHONY: run
run: install ## Run the operator on this machine against the cluster kubectl points at.
	@go run ./cmd/manager --leader-elect=false --metrics-secure=false --metrics-bind-address=127.0.0.1:8080

.PHONY: release
release: bin/kustomize ## Write all that a release has into dist, from the commit: VERSION=v1.2.3.
	@[ -z "$$(git status --porcelain 2>&1)" ] || { \
		echo "make release builds a commit, and this tree has changes: commit them, or git stash --include-untracked"; exit 1; }
	@digest=$$($(call release,build)); \
	$(SUBMAKE) dist/install.yaml dist/images.txt IMG='$(REPOSITORY):$(VERSION)'@$$digest; \
	$(call olm,$(RELEASE_WORK)/olm -version '$(VERSION:v%=%)' -image '$(REPOSITORY)'@$$digest \
		-created "$$(date -u -d '@$(or $(SOURCE_DATE_EPOCH),0)' +%FT%TZ)")
	@mkdir $(RELEASE_WORK)/etcd-steward; git archive HEAD:config/helm/etcd-steward | tar -x -C $(RELEASE_WORK)/etcd-steward
	@$(call chart,$(RELEASE_WORK)/etcd-steward -version '$(VERSION)')
	@$(call release,finish)
REPOSITORY := ghcr.io/etcdsteward/etcd-steward
RELEASE_WORK := $(CURDIR)/bin/release
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
release = go run -C test/tools ./release $(1) -root $(CURDIR) -work $(RELEASE_WORK) -out $(CURDIR)/dist -ldflags '$(LDFLAGS)' \
	-version '$(VERSION)' -revision '$(REVISION)' -created '$(or $(SOURCE_DATE_EPOCH),0)' \
	-image $(REPOSITORY) -chart $(dir $(REPOSITORY))charts/etcd-steward

# The second time nothing is taken from Go's cache.
.PHONY: verify-release
verify-release: bin/kustomize ## Build the release twice, from two clones, and compare every byte: VERSION=v1.2.3.
	@temp=$$(mktemp -d); trap 'rm -rf "$$temp"' EXIT; \
	for clone in one somewhere/else; do \
		git clone -q . "$$temp/$$clone"; \
		$(SUBMAKE) -C "$$temp/$$clone" release VERSION='$(VERSION)' >/dev/null; \
		export GOCACHE="$$temp/cache"; \
	done; \
	diff -r "$$temp/one/dist" "$$temp/somewhere/else/dist" || { echo "two builds of $(VERSION) differ"; exit 1; }; \
	(cd "$$temp"; sha256sum {one,somewhere/else}/dist/checksums.txt); \
	echo "$(VERSION): two builds have the same $$(wc -l <"$$temp/one/dist/checksums.txt") files"

##@ Local Kubernetes

.PHONY: localkube-up
localkube-up: $(LOCALKUBE) ## Start a Kubernetes of NODES=3 real nodes on this machine (Linux, root); FAMILIES=IPv4,IPv6 with both.
	@$(LOCALKUBE) up $(SHAPE)

.PHONY: localkube-build
localkube-build: $(LOCALKUBE) ## Only build what it needs into the cache; up to 15 minutes, once.
	@$(LOCALKUBE) build $(KUBERNETES:%=--kubernetes %)

.PHONY: localkube-down
localkube-down: $(LOCALKUBE) ## Stop it and leave nothing behind.
	@$(LOCALKUBE) down

.PHONY: localkube-deploy
localkube-deploy: $(LOCALKUBE) image dist/install.yaml ## Build the operator and put it on localkube.
	@was=$$($(LOCALKUBE) kubectl -n etcd-steward-system get deployment -o name --ignore-not-found); \
	$(LOCALKUBE) load $(IMAGE_TAR); \
	$(SUBMAKE) deploy KUBECTL='$(LOCALKUBE) kubectl' RESTART="$$was"

# ---- parts of the above ----

# Prints what this machine lacks, before anything is built, and for the demo where else it can be had.
.PHONY: fit
fit:
	@sh test/localkube/internal/host/fitness.sh$(if $(filter demo,$(MAKECMDGOALS)), || { echo '$(ELSEWHERE)'; exit 1; })
ELSEWHERE := docs/quickstart.md tries it without root on kind, k3d, minikube or a Kubernetes that you have

# Packages that start real servers mostly wait: they begin, and four packages at a time keep two cores busy.
.PHONY: test-plain
test-plain: bin/etcd bin/promtool $(S3_SERVER)
	@$(WITH_ETCD) $(GO_TEST) -p 4 -skip='$(ON_SERVER)' $(SERVED:%=./%) $$(go list ./... | grep -v $(patsubst %,-e '/%$$',$(RACED) $(APART) $(WITH_SERVER) $(COMPUTED)))

.PHONY: test-packages
test-packages:
	@$(GO_TEST) $(COMPUTED:%=./%)

.PHONY: test-server
test-server: bin/etcd bin/tests # and says what `go test` does
	@$(WITH_ETCD) for package in $(WITH_SERVER); do \
		program=$(BIN)/tests/$${package##*/}.test verdict=ok; \
		(cd $$package && GOGC=1600 $$program -test.skip='$(ON_SERVER)' -test.timeout=12m) >$$program.log 2>&1 || \
			{ cat $$program.log; verdict=FAIL failed=1; }; \
		printf '%s\t%s\n' $$verdict "$$(go list ./$$package)"; \
	done; [ -z "$${failed:-}" ]

# What is as it must be is left alone: the core stories and the unit tests both ask.
.PHONY: bin/tests
bin/tests:
	@mkdir -p $@; go test -vet=off $(STRIPPED) -c -o $@/ $(WITH_SERVER:%=./%)

.PHONY: test-world
test-world: # from its directory, so that what it found is shown and never taken from a cache
	@cd controllers/plan/world && $(GO_TEST)

.PHONY: test-raced
test-raced: bin/etcd
	@[ -n "$(RACE)" ] || echo "no races are looked for: there is no C compiler"
	@$(WITH_ETCD) $(RACE_TEST) $(RACED:%=./%)

.PHONY: test-localkube
test-localkube:
	@cd test/localkube && $(GO_TEST) ./...

# Where the real kube-scheduler would put members. Its module file makes this a module of another name.
.PHONY: test-spread
test-spread:
	@cd test/localkube && $(GO_TEST) -tags=scheduler -modfile=$(CURDIR)/test/localkube/internal/cache/modules/kubernetes-$(DEFAULT_KUBERNETES).mod ./internal/spread
DEFAULT_KUBERNETES = $(shell sed -n 's/^const KubernetesVersion = "\(.*\)\..*"/\1/p' test/localkube/internal/cache/targets.go)

# Every release of etcd and every store, in full, and every moment at which something may happen. What the gate does
# not build is looked at here.
.PHONY: test-full
test-full: bin/etcd $(S3_SERVER) $(MORE_SERVERS) bin/golangci-lint bin/hugo
	@[ -n "$(filter bin/azure/%,$(MORE_SERVERS))" ] || echo "nothing is tried on a server of Azure's: there is no npm to bring one"
	@export FULL=1; $(WITH_ETCD) $(GO_TEST) $(SERVED:%=./%) ./cmd/agent ./test/gcsserver ./test/azureserver
	@export FULL=1; $(WITH_ETCD) $(GO_TEST) -skip='$(ON_SERVER)' $(STRIDING:%=./%)
	@$(WITH_ETCD) $(RACE_TEST) -skip='$(ON_SERVER)' ./controllers/apply
	@FULL=1 $(GO_TEST) -run='^TestNothingThatAThief' ./test/policy
	@$(GO_TEST) ./controllers/plan/world -every=1 -times=10
	@$(GO_TEST) ./test/demo ./test/docs ./test/bench
	@cd test/tools && FULL=1 $(GO_TEST) -count=1 ./site
	@cd test/gitops && $(GO_TEST) ./... && $(BIN)/golangci-lint run ./...
	@cd test/histories && $(GO_TEST) ./... && $(BIN)/golangci-lint run ./...
	@$(SUBMAKE) test-spread

.PHONY: test-core
test-core: $(LOCALKUBE) $(S3_SERVER) $(E2E_TEST) bin/ginkgo bin/tests
	@mkdir -p test/reports
	@$(call on-operator,{ for package in $(WITH_SERVER); do (cd $$package && \
			$(BIN)/tests/$${package##*/}.test -test.run='$(ON_SERVER)' -test.timeout=12m) || failed=1; done; \
			[ -z "$${failed:-}" ]; } >test/reports/server.log 2>&1 & server=$$!; \
		$(GINKGO) --timeout=25m --seed=1 --label-filter=core $(E2E_TEST) || failed=1; \
		wait $$server || { echo "$(WITH_SERVER): on a real API server"; failed=1; }; \
		cat test/reports/server.log; [ -z "$${failed:-}" ])

.PHONY: gofmt
gofmt:
	@bad=$$(git ls-files --cached --others --exclude-standard '*.go' | xargs -r ls -d 2>/dev/null | xargs -r gofmt -l); \
	[ -z "$$bad" ] || { echo "not formatted (make fmt):"; echo "$$bad"; exit 1; }

.PHONY: arrows
arrows:
	@go test -vet=off -count=1 ./test/arrows

.PHONY: words
words:
	@$(GO_TEST) -count=1 ./test/docwords ./test/needs ./test/mutants ./test/trust
	@$(GO_TEST) -run='EveryBlock|ThePagesOf|BlocksOfAPage|CannotRead' ./test/docs

# The tables of rules, and the pages that repeat them. The unit tests hold them too.
.PHONY: tables
tables:
	@$(GO_TEST) -run='Docs|ThePage|OneSentencePerRule|EveryRule|EverySign|ForOneWrongFact|IsJudged|ReasonsByWhich|IsDocumented' \
		./controllers/plan ./controllers/report ./controllers/resources ./controllers/backupplan ./controllers/scheduleplan ./cmd/manager ./cmd/agent ./cmd/kubectl-etcd-steward

# They read files beside their module, which no cache of tests knows of.
.PHONY: pages
pages: bin/promtool bin/helm $(E2E_TEST)
	@cd test/tools && E2E_TEST=$(E2E_TEST) $(GO_TEST) -count=1 ./...

api-reference = bin/crd-ref-docs --source-path=api --max-depth=20 --config=test/tools/crd-ref-docs.yaml --renderer=markdown --output-path=$(1) --log-level=ERROR

chart = go run -C test/tools ./chart -root $(CURDIR) -out $(1)

# It reads the chart.
olm = go run -C test/tools ./olm -root $(CURDIR) -out $(1)

# style.d2 is what all of them share. With --scale=1 a page shows a picture at its own size.
draw = for source in $(filter-out %/style.d2,$(wildcard docs/pictures/*.d2)); do \
	said=$$(bin/d2 --pad=16 --scale=1 --omit-version $$source - 2>&1 >$(1)/$$(basename $$source .d2).svg) || \
	{ echo "$$said"; exit 1; }; done

# Generates everything anew beside the tree and compares: what is committed is what the code says.
.PHONY: verify-generated
verify-generated: bin/controller-gen bin/crd-ref-docs bin/d2
	@temp=$$(mktemp -d); trap 'rm -rf "$$temp"' EXIT; \
	bin/controller-gen object paths=./api/... output:object:dir="$$temp/api"; \
	bin/controller-gen crd paths=./api/... output:crd:dir="$$temp/crd"; \
	bin/controller-gen rbac:roleName=manager-role paths=./controllers/... output:rbac:dir="$$temp/rbac"; \
	$(call api-reference,"$$temp/api.md"); \
	$(call chart,"$$temp/chart"); \
	$(call olm,"$$temp/olm"); \
	mkdir "$$temp/pictures"; $(call draw,"$$temp/pictures"); \
	diff -u api/v1alpha1/zz_generated.deepcopy.go "$$temp/api/zz_generated.deepcopy.go" && \
	diff -ru config/crd/bases "$$temp/crd" && \
	diff -u config/rbac/role.yaml "$$temp/rbac/role.yaml" && \
	diff -ru config/helm/etcd-steward/files "$$temp/chart/files" && \
	diff -u config/helm/etcd-steward/Chart.yaml "$$temp/chart/Chart.yaml" && \
	diff -ru -x base.yaml -x ci.yaml -x scorecard.yaml config/olm "$$temp/olm" && \
	diff -u docs/reference/api.md "$$temp/api.md" && \
	diff -rq -x '*.d2' -x '*.png' docs/pictures "$$temp/pictures" || \
	{ echo "generated files are out of date: make generate manifests pictures"; exit 1; }

.PHONY: verify-kustomize
verify-kustomize: bin/kustomize
	@for dir in default monitoring namespaced namespaced/policy openshift; do bin/kustomize build config/$$dir >/dev/null; done

dist/install.yaml: bin/kustomize FORCE
	@mkdir -p dist bin/overlay
	@printf '%s\n' 'resources: [../../config/default]' 'images:' '- name: ghcr.io/etcdsteward/etcd-steward' \
		'  newName: $(patsubst %:$(IMG_TAG),%,$(IMG))' '  newTag: "$(IMG_TAG)"' >bin/overlay/kustomization.yaml
	@bin/kustomize build bin/overlay >$@

# What a mirror has to hold: the operator's image, which backups and restores run from too, and those of etcd.
dist/images.txt: dist/install.yaml
	@{ awk '$$1 == "image:" && $$2 ~ "/" {print $$2}' $<; $(SUBMAKE) --silent --no-print-directory etcd-images; } | sort -u >$@

# etcd's images: of each version at which an upgrade stops, and of those that the samples ask for.
.PHONY: etcd-images
etcd-images:
	@{ sed -n '/^var knownMinors/,/^}/s/.*release(\([0-9]*\), \([0-9]*\), \([0-9]*\)).*/\1.\2.\3/p' pkg/etcdutil/tiers.go; \
	   awk '$$1 == "version:" {gsub(/["v]/, "", $$2); print $$2}' config/samples/etcd*.yaml; } | sort -u | sed 's|^|gcr.io/etcd-development/etcd:v|'

# Runs commands with E2E_KUBECONFIG set. If it is not, that is localkube, which is brought up if it is not, and then taken
# down again however the commands end. One that is up, as the demo leaves it, gets the images of etcd that it lacks.
# LOCALKUBE in the environment says that it is localkube.
define on-cluster
if [ -z "$${E2E_KUBECONFIG:-}" ]; then \
	if ! $(LOCALKUBE) status >/dev/null 2>&1; then \
		trap 'code=$$?; $(LOCALKUBE) down || true; exit $$code' EXIT; trap 'exit 130' INT; trap 'exit 143' TERM; \
	fi; \
	$(LOCALKUBE) up $(SHAPE); \
	export E2E_KUBECONFIG="$$($(LOCALKUBE) kubeconfig)" LOCALKUBE=$(LOCALKUBE); \
fi; \
$(1)
endef

# The operator of this tree on localkube; on a cluster of yours, install it before.
on-operator = $(call on-cluster,[ -z "$${LOCALKUBE:-}" ] || $(SUBMAKE) localkube-deploy; $(1))

.PHONY: test-stories
test-stories: export FULL = 1
test-stories: $(LOCALKUBE) $(S3_SERVER) $(MORE_SERVERS) $(GITOPS) bin/prometheus bin/consumers/coredns $(E2E_TEST) bin/ginkgo bin/helm
	@$(if $(PICTURES),go build -C test/tools -o /dev/null ./dashboards; export PICTURES="$$(realpath -m -- "$$PICTURES")";) \
	$(call on-operator,[ -z "$${LOCALKUBE:-}" ] || { $(LOCALKUBE) build --csi; $(BUILD_PLANES); }; $(GINKGO) --timeout=175m --label-filter="$$GROUP" --focus="$$STORY" $(E2E_TEST))
# The older of the two API servers that are control planes on top of a cluster.
BUILD_PLANES = [ -n "$$STORY" ] || ! echo "$${GROUP:-versions}" | grep -Eq 'versions|control-plane' || $(LOCALKUBE) build --kubernetes 1.36
GINKGO = bin/ginkgo --fail-on-empty --procs=$(PROCS) --poll-progress-after=120s --output-dir=test/reports --json-report=stories.json

# Those that a Kubernetes of IPv4 alone skips.
.PHONY: test-families
test-families:
	@for families in IPv6 IPv4,IPv6; do $(SUBMAKE) test-stories GROUP=families FAMILIES=$$families || failed=1; done; \
	[ -z "$${failed:-}" ]

# The core stories on each Kubernetes of docs/support.md on which not each change is tested, or on that of KUBERNETES=1.34.
.PHONY: test-kubernetes
test-kubernetes:
	@for version in $(or $(KUBERNETES),$(OTHER_KUBERNETES)); do \
		{ $(SUBMAKE) localkube-build KUBERNETES=$$version && $(SUBMAKE) test-core KUBERNETES=$$version; } || failed=1; \
	done; [ -z "$${failed:-}" ]
OTHER_KUBERNETES := 1.34 1.35 1.36

# What is shipped for arm64: whether its programs start, and what can be tested without servers. It needs an emulator, which
# Debian has in qemu-user-static.
.PHONY: test-arm64
test-arm64:
	@command -v $(EMULATOR) >/dev/null || { echo "install $(EMULATOR): apt-get install qemu-user-static"; exit 1; }
	@$(SUBMAKE) image ARCH=arm64 IMAGE_TAR=bin/image/arm64.tar
	@for program in manager agent; do $(EMULATOR) bin/image/arm64/$$program --help >/dev/null 2>&1 || { \
		echo "$$program does not start on arm64"; exit 1; }; done
	@GOARCH=arm64 $(GO_TEST) -exec=$(EMULATOR) $(EMULATED:%=./%)
EMULATOR := qemu-aarch64-static
EMULATED := pkg/pki pkg/etcdutil controllers/words controllers/record controllers/resources controllers/backupplan controllers/scheduleplan

# The stories about the chart again, with Helm 3.
.PHONY: test-helm3
test-helm3: bin/helm3
	@HELM=$(BIN)/helm3 $(SUBMAKE) test-stories STORY='that Helm installs'

$(E2E_TEST): FORCE
	@go test -vet=off $(STRIPPED) -c -o $@ ./test/e2e

bin/ginkgo: go.mod
	@mkdir -p bin && go build $(STRIPPED) -o $@ github.com/onsi/ginkgo/v2/ginkgo

$(LOCALKUBE): FORCE
	@mkdir -p bin; [ -x $@ ] || echo "building localkube: seconds, or some minutes the first time on a machine"
	@go build -C test/localkube $(STRIPPED) -o $@ .

# It needs no root: with it unit tests try real etcd on any Linux.
.PHONY: etcd
etcd: $(LOCALKUBE) ## Only build etcd's releases for unit tests, into the cache; needs no root.
	@$(LOCALKUBE) etcd

# The pre-release of etcd that the operator accepts, which the gate does not build.
.PHONY: next-etcd
next-etcd: $(LOCALKUBE)
	@$(LOCALKUBE) etcd --etcd 3.8.0-alpha.0

# The etcd binaries of localkube, one directory for each version, as the contract tests look for them.
.PHONY: bin/etcd
bin/etcd: $(if $(filter test-full,$(MAKECMDGOALS)),next-etcd)
	@rm -rf $@; mkdir -p $@; for dir in $$(ls -dtr $(or $(LOCALKUBE_CACHE),$(CACHE)/localkube)/bin/etcd-* 2>/dev/null | grep -v '\.tmp$$'); do \
		name=$${dir##*/etcd-}; ln -sfn "$$dir" "$@/$${name%-*}"; \
	done

.PHONY: tools
tools: bin/controller-gen bin/crd-ref-docs bin/d2 bin/kustomize bin/helm bin/golangci-lint bin/promtool bin/ginkgo $(S3_SERVER) $(LOCALKUBE)

# What npm brings is what the lock says, and none of its scripts are run.
bin/azure/azurite-blob: test/tools/azure/package-lock.json
	@cached="$(CACHE)/tools/azurite-$$(sha256sum <$< | cut -c1-8)-$$(node --version)"; mkdir -p $(@D) "$(CACHE)/tools"; \
	if [ ! -d "$$cached" ]; then \
		echo "installing azurite (once)"; mkdir -p "$$cached.$$$$"; cp $(<D)/package*.json "$$cached.$$$$"; \
		npm ci --prefix "$$cached.$$$$" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null || { \
			echo "npm cannot bring azurite; without npm in $$PATH, make does without a server of Azure's"; exit 1; }; \
		mv "$$cached.$$$$" "$$cached"; \
	fi; \
	touch "$$cached"; ln -sfn "$$cached/node_modules/.bin/azurite-blob" $@

# $(call tool,name,package,module,directory of its go.mod,build tags,a main.go of our own)
define tool
bin/$(1): $(4)/go.mod $(6)
	@version=$$$$(awk '{sub(/^require /, "")} $$$$1 == "$(3)" && $$$$2 ~ /^v/ {print $$$$2}' $(4)/go.mod)$(if $(6),-$$$$(sha256sum <$(6) | cut -c1-8)); \
	cached="$(CACHE)/tools/$(notdir $(1))-$$$$version-$$$$(go env GOVERSION)"; mkdir -p $$(@D) "$(CACHE)/tools"; \
	if [ ! -x "$$$$cached" ]; then \
		echo "building $(1) $$$$version (once)"; \
		go build -C $(4) -tags '$(5)' -ldflags "-s -w" -o "$$$$cached.$$$$$$$$" $(2); mv "$$$$cached.$$$$$$$$" "$$$$cached"; \
	fi; \
	touch "$$$$cached"; ln -sf "$$$$cached" $$@
endef
$(eval $(call tool,controller-gen,sigs.k8s.io/controller-tools/cmd/controller-gen,sigs.k8s.io/controller-tools,test/tools))
$(eval $(call tool,crd-ref-docs,github.com/elastic/crd-ref-docs,github.com/elastic/crd-ref-docs,test/tools))
$(eval $(call tool,d2,oss.terrastruct.com/d2,oss.terrastruct.com/d2,test/tools/d2))
$(eval $(call tool,kustomize,sigs.k8s.io/kustomize/kustomize/v5,sigs.k8s.io/kustomize/kustomize/v5,test/tools))
$(eval $(call tool,golangci-lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,github.com/golangci/golangci-lint/v2,test/tools/lint))
$(eval $(call tool,helm,helm.sh/helm/v4/cmd/helm,helm.sh/helm/v4,test/tools/helm))
$(eval $(call tool,helm3,helm.sh/helm/v3/cmd/helm,helm.sh/helm/v3,test/tools/helm3))
$(eval $(call tool,hugo,github.com/gohugoio/hugo,github.com/gohugoio/hugo,test/tools/hugo))
# Without the clients of every cloud in which Prometheus can look for targets.
$(eval $(call tool,promtool,github.com/prometheus/prometheus/cmd/promtool,github.com/prometheus/prometheus,test/tools/promtool,remove_all_sd))
$(eval $(call tool,prometheus,github.com/prometheus/prometheus/cmd/prometheus,github.com/prometheus/prometheus,test/tools/promtool,remove_all_sd enable_kubernetes_sd))
$(eval $(call tool,s3/versitygw,github.com/versity/versitygw/cmd/versitygw,github.com/versity/versitygw,test/tools/s3/versitygw))
# Its own main links every kind of storage there is.
$(eval $(call tool,s3/rclone,.,github.com/rclone/rclone,test/tools/s3/rclone,,test/tools/s3/rclone/main.go))
$(eval $(call tool,gcs/fake-gcs-server,github.com/fsouza/fake-gcs-server,github.com/fsouza/fake-gcs-server,test/tools/gcs/fake-gcs-server))
# What pages show: programs that keep their data in etcd. CoreDNS' own program links the clients of several clouds.
$(eval $(call tool,consumers/coredns,.,github.com/coredns/coredns,test/consumers/coredns,,test/consumers/coredns/main.go))
$(eval $(call tool,consumers/traefik,github.com/traefik/traefik/v3/cmd/traefik,github.com/traefik/traefik/v3,test/consumers/traefik))
# Patroni is no Go module. Its image, by the name on the page, is made from Debian's packages.
bin/consumers/patroni.tar: test/consumers/patroni/image.sh docs/recipes.md
	@tag=$$(sed -n 's|.* image: \(.*patroni:[^ ]*\).*|\1|p' docs/recipes.md); \
	cached="$(CACHE)/tools/patroni-$$({ cat $<; echo "$$tag"; } | sha256sum | cut -c1-8).tar"; mkdir -p $(@D) "$(CACHE)/tools"; \
	if [ ! -e "$$cached" ]; then \
		echo "making the image of Patroni (once)"; \
		$< "$$tag" "$$cached.$$$$"; mv "$$cached.$$$$" "$$cached"; \
	fi; \
	touch "$$cached"; ln -sfn "$$cached" $@
$(eval $(call tool,gitops/argocd-engine,.,github.com/argoproj/gitops-engine,test/gitops,,test/gitops/main.go))

.PHONY: FORCE
FORCE:
