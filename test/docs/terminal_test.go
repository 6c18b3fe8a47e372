package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/test/s3server"
)

var testStore = store{s3server.Access{
	Endpoint: "https://198.18.0.1:7070", Bucket: "backups", Region: "us-east-1", AccessKeyID: "an-id", SecretAccessKey: "a-secret",
}}

// sit is a terminal on this machine whose kubectl writes down what it was told.
func sit(t *testing.T) *terminal {
	t.Helper()
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{
		options: options{root: repository, patience: 10 * time.Second}, store: testStore, dir: t.TempDir(),
		cluster: &cluster{kubectl: []string{"/bin/sh", "-c", `shift; echo "kubectl $*"; if [ "$1" = fail ]; then exit 3; fi`, "kubectl"}},
	}
	if err := term.startShell(); err != nil {
		t.Fatal(err)
	}
	return term
}

// try does everything on a page.
func (t *terminal) try(test *testing.T, text string) (tally, error) {
	test.Helper()
	var did tally
	p, err := parsePage("page.md", text)
	for _, b := range p.blocks {
		if err == nil {
			err = t.do(test.Context(), p.name, b, &did)
		}
	}
	return did, err
}

func TestAPageFailsWithTheLineOfTheCommandThatFailed(t *testing.T) {
	for text, want := range map[string]string{
		"```sh\ntrue\n\nfalse\n```\n":                                                 "page.md:4: false: exit status 1",
		"```console\n$ kubectl get x\nkubectl get x\n$ kubectl fail\n```\n":           "page.md:4: kubectl fail: exit status 3\nkubectl fail",
		"```sh\nno-such-program\n```\n":                                               "page.md:2: no-such-program: ",
		"```sh\nexit 0\ntrue\n```\n":                                                  "it closes the terminal",
		"```sh\nkubectl fail | cat\n```\n":                                            "page.md:2: ",
		"<!-- test expects: ^Ready$ -->\n```sh\necho Waiting\n```\n":                  "page.md:3: ^Ready$ is expected",
		"<!-- test run:\ntest 1 = 2\n-->\n":                                           "page.md:2: ",
		"```console\n$ printf 'NAME   SIZE\\na   3\\n'\nNAME   AGE\na      1m\n```\n": "the columns NAME, AGE",
		"```console\n$ kubectl get x\nNAME   AGE\n```\n":                              "the columns NAME, AGE",
		"```yaml\napiVersion: v1\nkind: [\n```\n":                                     "line 2: ",
	} {
		_, err := sit(t).try(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestAPageIsReadInOneTerminalFromItsFirstCommandToItsLast(t *testing.T) {
	did, err := sit(t).try(t, `
`+"```sh"+`
x=$(kubectl get name)
echo 'a file' >made
`+"```"+`
<!-- test skip: it is for other machines -->
`+"```sh"+`
false
`+"```"+`
<!-- test expects: kubectl get name\na file -->
`+"```console"+`
$ echo "$x"; cat made
anything
`+"```"+`
<!-- test expects: --from-literal=access-key-id=an-id --from-literal=secret-access-key=a-secret -->
`+"```sh"+`
kubectl create secret generic s3 --from-literal=access-key-id=… --from-literal=secret-access-key=…
`+"```"+`
`+"```console"+`
$ printf 'NAME   LAST SUCCESS   AGE\n'
NAME        LAST SUCCESS           AGE
demo        9h                     30d
`+"```"+`
`)
	if err != nil {
		t.Fatal(err)
	}
	if did.commands != 6 || did.skipped != 1 {
		t.Errorf("did %s", did)
	}
}

func TestMakeIsThatOfTheRepositoryWithTheKubectlOfTheTest(t *testing.T) {
	t.Setenv("MAKEFLAGS", "--no-such-flag") // as a make has it that was told something else
	text := "<!-- test expects: (?s)README.md and docs on localkube.*shift; echo -->\n```sh\nmake help\nmake -n deploy\n```\n"
	if did, err := sit(t).try(t, text); err != nil || did.commands != 2 {
		t.Errorf("did %s: %v", did, err)
	}
}

func TestManifestsAreAppliedOrWrittenToTheFileThatTheyName(t *testing.T) {
	term := sit(t)
	did, err := term.try(t, "```yaml\napiVersion: v1\nkind: ConfigMap\n```\n"+
		"```yaml\n# made.yaml\napiVersion: v1\nkind: Secret\n```\n"+
		"```yaml\nspec:\n  size: 3\n```\n"+
		"<!-- test expects: kind: Secret -->\n```sh\ncat made.yaml\n```\n")
	if err != nil || did.applied != 1 || did.commands != 1 {
		t.Errorf("did %s: %v", did, err)
	}
	if _, err := sit(t).try(t, "```yaml\napiVersion: v1\nkind: ConfigMap\n```\n"); err != nil {
		t.Error(err)
	}
}

func TestEveryS3StoreOfAManifestIsTheServerOfTheTest(t *testing.T) {
	text := `# A comment.
apiVersion: v1
kind: ConfigMap
---
kind: EtcdBackup
spec:
  store:
    s3: {bucket: theirs, prefix: demo, endpoint: "https://minio.storage.svc:9000", serverSideEncryption: AES256, credentialsSecretRef: {name: mine}}
---
kind: EtcdCluster
spec: {bootstrap: {restore: {store: {s3: {bucket: theirs}}, latest: true}}}
`
	staged, err := testStore.stage([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(staged), "---\n")
	if len(documents) != 3 || !strings.HasPrefix(documents[0], "# A comment.") {
		t.Fatalf("got %d:\n%s", len(documents), staged)
	}
	for i, want := range map[int]string{
		1: "bucket: backups caSecretRef: name: docs-s3-ca credentialsSecretRef: name: mine endpoint: https://198.18.0.1:7070 forcePathStyle: true prefix: demo region: us-east-1",
		2: "bucket: backups caSecretRef: name: docs-s3-ca credentialsSecretRef: name: s3-credentials endpoint: https://198.18.0.1:7070 forcePathStyle: true region: us-east-1",
	} {
		if got := strings.Join(strings.Fields(documents[i]), " "); !strings.Contains(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestAManifestThatNamesTheReadersNamespaceMeansThatOfThePage(t *testing.T) {
	text := "metadata: {name: a}\nspec:\n  clusterRef:\n    namespace: default\n  other: \"namespace: default\"\n"
	want := strings.Replace(text, "namespace: default\n", "namespace: docs-1\n", 1)
	if got := (&terminal{namespace: "docs-1"}).placed(text); got != want {
		t.Errorf("got %s", got)
	}
}

func TestManifestsWithoutAnS3StoreStayToTheLetter(t *testing.T) {
	text := "# A comment.\nkind: EtcdBackup\nspec:\n  store:\n    volume: {claimName: a}\n"
	if staged, err := testStore.stage([]byte(text)); err != nil || string(staged) != text {
		t.Errorf("got %q: %v", staged, err)
	}
}

func TestTheSamplesLieWherePagesSayWithTheServerOfTheTest(t *testing.T) {
	term := sit(t)
	if err := term.layOut(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(term.dir, "config", "samples", "etcdbackup-s3.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var backup map[string]any
	if err := yaml.Unmarshal(text, &backup); err != nil || !strings.Contains(string(text), testStore.Endpoint) {
		t.Errorf("got %s: %v", text, err)
	}
	for _, name := range []string{"default/kustomization.yaml", "crd/kustomization.yaml", "samples/etcdcluster.yaml"} {
		if _, err := os.Stat(filepath.Join(term.dir, "config", name)); err != nil {
			t.Error(err)
		}
	}
}
