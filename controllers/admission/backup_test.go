package admission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const backupDefinitionFile = "../../config/crd/bases/etcdsteward.dev_etcdbackups.yaml"

// smallestBackup is the smallest backup that a user would write.
const smallestBackup = `
apiVersion: etcdsteward.dev/v1alpha1
kind: EtcdBackup
metadata: {name: nightly, namespace: default}
spec: {clusterRef: {name: demo}, store: {volume: {claimName: backups}}}
`

const (
	// toS3, toGCS and toAzure lay another store over the smallest backup.
	toS3    = "spec: {store: {volume: null, s3: {bucket: etcd-backups}}}"
	toGCS   = "spec: {store: {volume: null, gcs: {bucket: etcd-backups}}}"
	toAzure = "spec: {store: {volume: null, azure: {container: etcd-backups, credentialsSecretRef: {name: azure}}}}"

	pathSentence = "; it must be a path such as etcd/prod: letters, digits and !_.*()- between single slashes, not starting or ending " +
		`with a slash, and no part of it "." or ".."`
	bucketSentence = `; it must be the name of a bucket: 3 to 63 lower-case letters, digits, "." and "-", starting and ending with a letter or digit`
	urlSentence    = "; it must be an http or https URL of a host, such as https://minio.storage.svc:9000: without user, path and query"
)

func backup(t testing.TB, changes ...string) *unstructured.Unstructured {
	t.Helper()
	return layered(t, smallestBackup, changes...)
}

func newBackupGate(t testing.TB) *gate {
	t.Helper()
	return gateOf(t, readDefinitionFrom(t, backupDefinitionFile))
}

func s3(field, value string) string { return "spec: {store: {s3: {" + field + ": " + value + "}}}" }

func TestBackupsThatAUserMayAskForAreAdmitted(t *testing.T) {
	g := newBackupGate(t)
	for name, changes := range map[string][]string{
		"the smallest":                       {},
		"a bucket of Amazon's":               {toS3},
		"a bucket with all there is to say":  {toS3, "spec: {store: {s3: {prefix: 'etcd/prod_1/(a)!*', endpoint: 'https://minio.storage.svc:9000', region: eu-central-1, forcePathStyle: true, credentialsSecretRef: {name: s3.credentials}, caSecretRef: {name: ca}, serverSideEncryption: 'aws:kms'}}}"},
		"a bucket of Google's":               {toGCS, "spec: {store: {gcs: {prefix: etcd, endpoint: 'https://storage.example.com', credentialsSecretRef: {name: gcs}}}}"},
		"a container of Azure's":             {toAzure},
		"a container by its account's URL":   {toAzure, "spec: {store: {azure: {credentialsSecretRef: null, endpoint: 'http://azurite:10000/devstoreaccount1'}}}"},
		"a server by its address":            {toS3, s3("endpoint", "'http://10.0.0.7:9000'")},
		"a server by its address of six":     {toS3, s3("endpoint", "'http://[fd00::7]:9000/'")},
		"a prefix of dots that is no way up": {toS3, s3("prefix", "'...a/b..c'")},
		"a path in the volume":               {"spec: {store: {volume: {path: etcd/prod}}}"},
		"a backup that is not to be proven":  {"spec: {verify: false}"},
		"a deadline of a minute":             {"spec: {deadline: 1m}"},
		"a deadline of hours and minutes":    {"spec: {deadline: 1h30m}"},
		"no names of prefixes":               {"spec: {largestDepth: 0}"},
		"the deepest names of prefixes":      {"spec: {largestDepth: 8}"},
		"the longest name":                   {"metadata: {name: " + strings.Repeat("a", 63) + "}"},
		"a name that starts with a digit":    {"metadata: {name: 2026-05-01}"},
	} {
		t.Run(name, func(t *testing.T) {
			if errs := g.create(t, backup(t, changes...)); len(errs) > 0 {
				t.Errorf("the schema refuses it: %v", errs.ToAggregate())
			}
		})
	}
}

// refusedBackups are wrong values with where the error is and what it says.
var refusedBackups = []struct{ name, change, field, says string }{
	{"a name that is too long for a label", "metadata: {name: " + strings.Repeat("a", 64) + "}", "<nil>", "it must be at most 63 characters"},
	{"a name with a dot", "metadata: {name: a.b}", "<nil>", `metadata.name is "a.b"; it must be`},
	{"no cluster", "spec: {clusterRef: null}", "spec.clusterRef", "Required value"},
	{"a cluster in another namespace", "spec: {clusterRef: {name: other/demo}}", "spec.clusterRef.name", `spec.clusterRef.name is "other/demo"; it must be the name of an EtcdCluster`},
	{"an empty cluster", "spec: {clusterRef: {name: ''}}", "spec.clusterRef.name", `spec.clusterRef.name is ""`},
	{"no store", "spec: {store: null}", "spec.store", "Required value"},
	{"an empty store", "spec: {store: {volume: null}}", "spec.store", "store must have exactly one of"},
	{"two stores", "spec: {store: {s3: {bucket: etcd-backups}}}", "spec.store", "store must have exactly one of"},
	{"no claim", "spec: {store: {volume: {claimName: null}}}", "spec.store.volume.claimName", "Required value"},
	{"a claim that is a path", "spec: {store: {volume: {claimName: ../x}}}", "spec.store.volume.claimName", `store.volume.claimName is "../x"; it must be the name of a PersistentVolumeClaim`},
	{"a path that leads out of the volume", "spec: {store: {volume: {path: a/../../b}}}", "spec.store.volume.path", `store.volume.path is "a/../../b"` + pathSentence},
	{"a path of one dot", "spec: {store: {volume: {path: a/./b}}}", "spec.store.volume.path", `store.volume.path is "a/./b"` + pathSentence},
	{"a path from the root", "spec: {store: {volume: {path: /etc}}}", "spec.store.volume.path", `store.volume.path is "/etc"` + pathSentence},
	{"a path with two slashes", "spec: {store: {volume: {path: a//b}}}", "spec.store.volume.path", `store.volume.path is "a//b"` + pathSentence},
	{"a path that ends in a slash", "spec: {store: {volume: {path: a/}}}", "spec.store.volume.path", `store.volume.path is "a/"` + pathSentence},
	{"a path for a shell", "spec: {store: {volume: {path: '$(reboot)'}}}", "spec.store.volume.path", `store.volume.path is "$(reboot)"` + pathSentence},
	{"a Secret of another namespace for a volume", "spec: {store: {volume: {credentialsSecretRef: {name: other/secret}}}}", "spec.store.volume.credentialsSecretRef.name", "it must be the name of a Secret of this namespace"},
	{"two stores of the clouds", "spec: {store: {volume: null, gcs: {bucket: etcd-backups}, azure: {container: etcd-backups, endpoint: 'https://a'}}}", "spec.store", "exactly one of s3, gcs, azure and volume"},
	{"a bucket of Google's with capitals", "spec: {store: {volume: null, gcs: {bucket: Backups}}}", "spec.store.gcs.bucket", `store.gcs.bucket is "Backups"; it must be the name of a bucket: 3 to 222`},
	{"a prefix at Google that leads out", "spec: {store: {volume: null, gcs: {bucket: backups, prefix: ../x}}}", "spec.store.gcs.prefix", `store.gcs.prefix is "../x"` + pathSentence},
	{"an endpoint for Google with a path", "spec: {store: {volume: null, gcs: {bucket: backups, endpoint: 'https://a/b'}}}", "spec.store.gcs.endpoint", `store.gcs.endpoint is "https://a/b"; it must be an http or https URL of a host`},
	{"a container of nobody", "spec: {store: {volume: null, azure: {container: backups}}}", "spec.store.azure", "store.azure must have an endpoint or a credentialsSecretRef"},
	{"a container with two dashes", "spec: {store: {volume: null, azure: {container: a--b, endpoint: 'https://a'}}}", "spec.store.azure.container", `store.azure.container is "a--b"; it must be the name of a container`},
	{"a prefix at Azure that leads out", "spec: {store: {volume: null, azure: {container: backups, endpoint: 'https://a', prefix: /x}}}", "spec.store.azure.prefix", `store.azure.prefix is "/x"` + pathSentence},
	{"an endpoint at Azure with a key", "spec: {store: {volume: null, azure: {container: backups, endpoint: 'https://a?sig=secret'}}}", "spec.store.azure.endpoint", `it must be an http or https URL, such as https://account.blob.core.windows.net`},
	{"authorities for Google's protocol in clear text", "spec: {store: {volume: null, gcs: {bucket: backups, endpoint: 'http://a', caSecretRef: {name: ca}}}}", "spec.store.gcs", `store.gcs.endpoint is "http://a"; it must begin with https where there is a caSecretRef`},
	{"authorities for Azure in clear text", "spec: {store: {volume: null, azure: {container: backups, endpoint: 'http://a', caSecretRef: {name: ca}}}}", "spec.store.azure", `store.azure.endpoint is "http://a"; it must begin with https where there is a caSecretRef`},
	{"authorities for a bucket in clear text", "spec: {store: {volume: null, s3: {bucket: backups, endpoint: 'http://a', caSecretRef: {name: ca}}}}", "spec.store.s3", `store.s3.endpoint is "http://a"; it must begin with https where there is a caSecretRef: with http nothing is encrypted and no certificate is asked for`},
	{"a deadline that is none", "spec: {deadline: soon}", "spec.deadline", `spec.deadline is "soon"; it must be a time from 1m to 168h, such as 90m`},
	{"a deadline of a second", "spec: {deadline: 1s}", "spec.deadline", `spec.deadline is "1s"; it must be a time from 1m to 168h`},
	{"a deadline of a year", "spec: {deadline: 8760h}", "spec.deadline", `spec.deadline is "8760h"; it must be a time from 1m to 168h`},
	{"a deadline before now", "spec: {deadline: '-1h'}", "spec.deadline", `spec.deadline is "-1h"; it must be`},
	{"names deeper than eight", "spec: {largestDepth: 9}", "spec.largestDepth", `spec.largestDepth is 9; it must be from 0 to 8`},
	{"names less deep than none", "spec: {largestDepth: -1}", "spec.largestDepth", `spec.largestDepth is -1; it must be from 0 to 8`},
}

// refusedBuckets are wrong values of a bucket.
var refusedBuckets = []struct{ name, field, value, says string }{
	{"no bucket", "bucket", "null", "Required value"},
	{"a bucket with capitals", "bucket", "Backups", `store.s3.bucket is "Backups"` + bucketSentence},
	{"a bucket that is too short", "bucket", "ab", `store.s3.bucket is "ab"` + bucketSentence},
	{"a bucket with a path", "bucket", "backups/etcd", `store.s3.bucket is "backups/etcd"` + bucketSentence},
	{"a bucket with two dots", "bucket", "back..ups", `store.s3.bucket is "back..ups"` + bucketSentence},
	{"a prefix that leads out of the bucket", "prefix", "a/../b", `store.s3.prefix is "a/../b"` + pathSentence},
	{"a prefix from the root", "prefix", "/etcd", `store.s3.prefix is "/etcd"` + pathSentence},
	{"an endpoint without a scheme", "endpoint", "'minio:9000'", `store.s3.endpoint is "minio:9000"` + urlSentence},
	{"an endpoint that is a file", "endpoint", "'file:///etc/passwd'", `store.s3.endpoint is "file:///etc/passwd"` + urlSentence},
	{"an endpoint with a password", "endpoint", "'https://me:secret@minio:9000'", "store.s3.endpoint is"},
	{"an endpoint with a path", "endpoint", "'https://minio:9000/admin'", `store.s3.endpoint is "https://minio:9000/admin"` + urlSentence},
	{"an endpoint with a query", "endpoint", "'https://minio?x=1'", `store.s3.endpoint is "https://minio?x=1"` + urlSentence},
	{"a region in words", "region", "'near here'", `store.s3.region is "near here"; it must be a region such as eu-central-1`},
	{"an encryption that does not exist", "serverSideEncryption", "rot13", `supported values: "AES256", "aws:kms"`},
}

func TestBackupsThatAreWrongAreRefusedWithASentence(t *testing.T) {
	g := newBackupGate(t)
	for _, row := range refusedBackups {
		t.Run(row.name, func(t *testing.T) {
			saysOnce(t, "the schema", g.create(t, backup(t, row.change)), row.field, row.says)
		})
	}
	for _, row := range refusedBuckets {
		t.Run(row.name, func(t *testing.T) {
			saysOnce(t, "the schema", g.create(t, backup(t, toS3, s3(row.field, row.value))), "spec.store.s3."+row.field, row.says)
		})
	}
	for _, row := range secretRows(t) {
		saysOnce(t, "the schema", g.create(t, row.object), row.field, `called "other/secret"; it must be the name of a Secret of this namespace`)
	}
}

type secretRow struct {
	object *unstructured.Unstructured
	field  string
}

// secretRows are backups that name a Secret of another namespace, in each place where one may be named.
func secretRows(t *testing.T) []secretRow {
	t.Helper()
	var rows []secretRow
	for store, change := range map[string]string{"s3": toS3, "gcs": toGCS, "azure": toAzure} {
		for _, field := range []string{"credentialsSecretRef", "caSecretRef"} {
			object := backup(t, change, "spec: {store: {"+store+": {"+field+": {name: other/secret}}}}")
			rows = append(rows, secretRow{object, "spec.store." + store + "." + field + ".name"})
		}
	}
	return rows
}

func TestNothingOfABackupCanChange(t *testing.T) {
	g := newBackupGate(t)
	for _, change := range []string{
		"spec: {clusterRef: {name: other}}", "spec: {store: {volume: {claimName: other}}}", "spec: {store: {volume: {path: x}}}", toS3,
		"spec: {verify: false}", "spec: {deadline: 2h}", "spec: {largestDepth: 3}", acceptedTasks,
	} {
		errs := g.update(t, backup(t, change), backup(t))
		saysOnce(t, "the schema", errs, "spec", "spec cannot change: an EtcdBackup is one backup and runs once; create another one")
	}
	if errs := g.update(t, backup(t, "metadata: {labels: {team: storage}}"), backup(t)); len(errs) > 0 {
		t.Errorf("a label is refused: %v", errs.ToAggregate())
	}
}

func TestNoRuleOfABackupsSchemaCouldBeTakenAwayUnnoticed(t *testing.T) {
	eachRuleIsNeeded(t, backupDefinitionFile, 10, isBackupRuleNoticed)
}

// isBackupRuleNoticed reports whether some row misses its sentence.
func isBackupRuleNoticed(t *testing.T, g *gate) bool {
	t.Helper()
	for _, row := range refusedBackups {
		if !strings.Contains(errsText(g.create(t, backup(t, row.change))), row.says) {
			return true
		}
	}
	for _, row := range refusedTasks {
		if !strings.Contains(errsText(g.create(t, backup(t, row.change))), row.says) {
			return true
		}
	}
	for _, row := range refusedBuckets {
		if !strings.Contains(errsText(g.create(t, backup(t, toS3, s3(row.field, row.value)))), row.says) {
			return true
		}
	}
	for _, row := range secretRows(t) {
		if errs := g.create(t, row.object); !strings.Contains(errsText(errs), row.field) {
			return true
		}
	}
	return len(g.update(t, backup(t, "spec: {verify: false}"), backup(t))) == 0
}

func TestEachSampleOfABackupIsAdmitted(t *testing.T) {
	g := newBackupGate(t)
	files, err := filepath.Glob("../../config/samples/etcdbackup-*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("looking for the samples: found %d, error %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := strings.Split(string(text), "\n---\n")
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(toJSON(t, documents[len(documents)-1])); err != nil {
			t.Fatalf("decoding %s: %v", file, err)
		}
		object.SetNamespace("default")
		if errs := g.create(t, object); object.GetKind() != "EtcdBackup" || len(errs) > 0 {
			t.Errorf("%s: a %s, %v", file, object.GetKind(), errs.ToAggregate())
		}
	}
}
