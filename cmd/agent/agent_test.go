package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/test/needs"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runArgs runs one subcommand as the Pod does, and returns its exit code and its termination message.
func runArgs(t testing.TB, args ...string) (int, string) {
	t.Helper()
	return runArgsIn(context.Background(), t, args...)
}

func runArgsIn(ctx context.Context, t testing.TB, args ...string) (int, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "termination-log")
	var stdout bytes.Buffer
	code := run(ctx, append(args, "--termination-log="+log, "--progress-address="), &stdout)
	message, err := os.ReadFile(log)
	must(t, err)
	if strings.TrimSpace(stdout.String()) != string(message) {
		t.Errorf("printed %q, and the termination message is %q", stdout.String(), message)
	}
	if len(message) > maxTermination || bytes.ContainsRune(message, '\n') || !json.Valid(message) {
		t.Errorf("the termination message is %q", message)
	}
	return code, string(message)
}

func failureOf(t testing.TB, code int, message string) failed {
	t.Helper()
	var f failed
	must(t, json.Unmarshal([]byte(message), &f))
	if code == 0 || f.Reason == "" || f.Message == "" {
		t.Fatalf("exit %d: %s", code, message)
	}
	return f
}

// startEtcd runs one plain member and returns its endpoint as the agent takes it.
func startEtcd(t *testing.T, version string) (endpoint, programs string) {
	t.Helper()
	programs = filepath.Join(needs.Etcd(t), version)
	url, peer := "http://"+"127.0.0.1:"+needs.FreePort(t), "http://"+"127.0.0.1:"+needs.FreePort(t)
	command := exec.Command(filepath.Join(programs, "etcd"), "--name=m0", "--data-dir="+t.TempDir(), "--log-level=error",
		"--listen-client-urls="+url, "--advertise-client-urls="+url, "--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer, "--initial-cluster=m0="+peer, "--unsafe-no-fsync=true")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Logger: zap.NewNop()})
	must(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for i := range 50 {
		_, err := client.Put(ctx, fmt.Sprintf("key-%d", i%20), strings.Repeat("v", i))
		must(t, err)
	}
	return "m0=" + url, programs
}

func snapshotArgs(endpoint, scratch, volume string) []string {
	return []string{
		"snapshot", `--store={"volume":{"path":"kept"}}`, "--volume-root=" + volume, "--scratch=" + scratch,
		"--endpoints=" + endpoint, "--cluster-namespace=team", "--cluster-name=demo", "--cluster-uid=u-1",
		"--backup-uid=b-1", "--incarnation=2", "--verify=false", "--stall=30s",
	}
}

func TestASnapshotInAStoreThatKnowsNoConditionsSaysSo(t *testing.T) {
	endpoint, _ := startEtcd(t, "3.6.16")
	proxy := s3server.Start(t, s3server.Versitygw, s3server.Options{}).Proxy(t)
	secret := t.TempDir()
	must(t, os.WriteFile(filepath.Join(secret, "access-key-id"), []byte(proxy.AccessKeyID), 0o600))
	must(t, os.WriteFile(filepath.Join(secret, "secret-access-key"), []byte(proxy.SecretAccessKey), 0o600))
	for _, knowsNone := range []bool{false, true} {
		if knowsNone {
			proxy.Inject(s3server.KnowNoConditions())
		}
		args := slices.DeleteFunc(snapshotArgs(endpoint, t.TempDir(), ""), func(arg string) bool { return strings.Contains(arg, "volume") })
		code, message := runArgs(t, append(args, "--credentials-dir="+secret, fmt.Sprintf(
			`--store={"s3":{"bucket":%q,"endpoint":%q,"region":%q,"forcePathStyle":true}}`, proxy.Bucket, proxy.Endpoint, proxy.Region))...)
		if code != 0 || !strings.Contains(message, `"sha256"`) || strings.Contains(message, `"unconditional":true`) != knowsNone {
			t.Errorf("it knows no conditions: %t, and exit %d: %s", knowsNone, code, message)
		}
	}
}

func TestTheStepsOfABackupFollowEachOther(t *testing.T) {
	endpoint, programs := startEtcd(t, "3.6.16")
	scratch, volume := t.TempDir(), t.TempDir()
	toStore := []string{`--store={"volume":{"path":"kept"}}`, "--volume-root=" + volume, "--scratch=" + scratch}
	snapshot := append(snapshotArgs(endpoint, scratch, volume), "--verify=true")
	code, message := runArgs(t, snapshot...)
	if code != 0 {
		t.Fatal(message)
	}
	var m backup.Manifest
	must(t, json.Unmarshal([]byte(message), &m))
	if m.TotalKeys != 20 || m.Incarnation != 2 || m.Member != "m0" || !strings.HasPrefix(m.Key, "kept/team/demo/u-1/") {
		t.Errorf("%s", message)
	}
	if code, message = runArgs(t, append([]string{"fetch"}, toStore...)...); code != 0 {
		t.Fatal(message)
	}
	restore(t, programs, scratch)
	manifest := filepath.Join(volume, filepath.Dir(m.Key), "manifest.json")
	if _, err := os.Stat(manifest); err == nil {
		t.Error("it has a manifest before it is proven")
	}
	if code, message = runArgs(t, append([]string{"compare", "--largest-depth=1"}, toStore...)...); code != 0 {
		t.Fatal(message)
	}
	if _, err := os.Stat(manifest); err != nil {
		t.Errorf("it is proven and has no manifest: %v", err)
	}
	var c backup.Compared
	must(t, json.Unmarshal([]byte(message), &c))
	if c.KeysHash != m.KeysHash.Hash || c.Revision != m.Revision || len(c.Largest) != 1 || c.Largest[0].Keys != 20 ||
		strings.Contains(message, "vv") {
		t.Errorf("%s", message)
	}

	// The kubelet may run all of it again in the same Pod.
	for range 2 {
		if code, message = runArgs(t, snapshot...); code != 0 {
			t.Fatal(message)
		}
	}
}

// restore is the step of the cluster's own etcdutl.
func restore(t *testing.T, programs, scratch string) {
	t.Helper()
	output, err := exec.Command(filepath.Join(programs, "etcdutl"), "snapshot", "restore", filepath.Join(scratch, "fetched.db"),
		"--data-dir", filepath.Join(scratch, "restored")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
}

func TestTheNewestBackupOfAScheduleIsTriedWithoutTheClusterAndWithoutWritingToTheStore(t *testing.T) {
	endpoint, programs := startEtcd(t, "3.6.16")
	volume, scratch := t.TempDir(), t.TempDir()
	var newest backup.Manifest
	for _, schedule := range []string{"--schedule=hourly", "--schedule=nightly", "--schedule=hourly"} {
		code, message := runArgs(t, append(snapshotArgs(endpoint, t.TempDir(), volume), schedule)...)
		if code != 0 {
			t.Fatal(message)
		}
		if schedule == "--schedule=nightly" {
			must(t, json.Unmarshal([]byte(message), &newest))
		}
	}
	fetch := []string{
		"fetch", "--newest", "--cluster-namespace=team", "--cluster-name=demo", "--cluster-uid=u-1", "--schedule=nightly",
		`--store={"volume":{"path":"kept"}}`, "--volume-root=" + volume, "--scratch=" + scratch,
	}
	for range 2 {
		code, message := runArgs(t, fetch...)
		var fetched backup.Fetched
		must(t, json.Unmarshal([]byte(message), &fetched))
		if code != 0 || fetched.Key != newest.Key || fetched.Revision != newest.Revision || !fetched.StartedAt.Equal(newest.StartedAt) {
			t.Fatalf("%s; the newest is %+v", message, newest)
		}
		restore(t, programs, scratch)
		var compared backup.Compared
		code, message = runArgs(t, "compare", "--proof-only", "--scratch="+scratch)
		must(t, json.Unmarshal([]byte(message), &compared))
		if code != 0 || compared.KeysHash != newest.KeysHash.Hash {
			t.Fatal(message)
		}
	}
	code, message := runArgs(t, append(fetch, "--schedule=weekly")...)
	if f := failureOf(t, code, message); f.Reason != backup.ReasonNoBackup {
		t.Errorf("%s", message)
	}
}

func TestAFailedStepSaysWhyInOneLineAndShowsNoSecret(t *testing.T) {
	const canary = "canary-secret-8c1d"
	credentials := t.TempDir()
	must(t, os.WriteFile(filepath.Join(credentials, "access-key-id"), []byte(canary), 0o600))
	must(t, os.WriteFile(filepath.Join(credentials, "secret-access-key"), []byte(canary+"-2"), 0o600))
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>InvalidAccessKeyId</Code><Message>the key %s\nis not known</Message></Error>", canary)
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	endpoint, _ := startEtcd(t, "3.6.16")
	args := slices.Concat(snapshotArgs(endpoint, t.TempDir(), t.TempDir()), []string{
		`--store={"s3":{"bucket":"backups","forcePathStyle":true,"endpoint":"http://` + listener.Addr().String() + `"}}`,
		"--credentials-dir=" + credentials,
	})
	code, message := runArgs(t, args...)
	f := failureOf(t, code, message)
	if f.Reason != backup.ReasonStoreDenied || code != exitFailed {
		t.Errorf("exit %d: %s", code, message)
	}
	if strings.Contains(message, canary) || !strings.Contains(message, "[redacted]") {
		t.Errorf("the message shows the secret: %s", message)
	}
}

func TestAWrongCallIsRefusedWithTheFlagThatIsWrong(t *testing.T) {
	good := snapshotArgs("m0=http://127.0.0.1:1", t.TempDir(), t.TempDir())
	for name, tc := range map[string]struct {
		args  []string
		names string
	}{
		"no step":             {[]string{}, "usage"},
		"an unknown step":     {[]string{"restore"}, "restore"},
		"an unknown flag":     {append(slices.Clone(good), "--shell=true"), "shell"},
		"an argument":         {append(slices.Clone(good), "--stall=1s", "rest"), "rest"},
		"no stall":            {append(slices.Clone(good), "--stall=0s"), "stall"},
		"a name with a path":  {append(slices.Clone(good), "--cluster-name=../x"), "cluster-name"},
		"an endpoint":         {append(slices.Clone(good), "--endpoints=http://x"), "endpoint"},
		"a cluster ID":        {append(slices.Clone(good), "--cluster-id=xyz"), "xyz"},
		"a version":           {append(slices.Clone(good), "--etcd-version=3.6.16"), "etcd-version"},
		"a proof of no store": {[]string{"compare"}, "store"},
		"a depth below none":  {[]string{"compare", "--proof-only", "--largest-depth=-1"}, "largest-depth"},
		"nobody's newest":     {[]string{"fetch", "--newest", `--store={"volume":{}}`}, "cluster-"},
		"a schedule's path":   {append(slices.Clone(good), "--schedule=../x"), "schedule"},
		"a store":             {append(slices.Clone(good), "--store={}"), "store"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parseOptions(tc.args)
			if err == nil || !strings.Contains(err.Error(), tc.names) {
				t.Fatalf("got %v, want %q in it", err, tc.names)
			}
			o.terminationLog = filepath.Join(t.TempDir(), "log")
			report(io.Discard, o, failed{Reason: reasonUsage, Message: err.Error()})
			text, err := os.ReadFile(o.terminationLog)
			must(t, err)
			failureOf(t, exitUsage, string(text))
		})
	}
}

func TestAFailureOfAVolumeDoesNotSayWhereItIsMounted(t *testing.T) {
	volume := t.TempDir()
	must(t, os.WriteFile(filepath.Join(volume, "kept"), nil, 0o600))
	endpoint, _ := startEtcd(t, "3.6.16")
	code, message := runArgs(t, snapshotArgs(endpoint, t.TempDir(), volume)...)
	failureOf(t, code, message)
	if strings.Contains(message, volume) || !strings.Contains(message, "kept/") {
		t.Errorf("%s", message)
	}
}

func TestAStepToldToStopSaysThatItWas(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	code, message := runArgsIn(ctx, t, snapshotArgs("m0=http://127.0.0.1:1", t.TempDir(), t.TempDir())...)
	if f := failureOf(t, code, message); f.Reason != backup.ReasonInterrupted {
		t.Errorf("%s", message)
	}
}

func TestProgressIsServedAndNothingElse(t *testing.T) {
	address := "127.0.0.1:" + needs.FreePort(t)
	stop, err := serveProgress(address, &backup.Progress{})
	must(t, err)
	defer stop()
	response, err := http.Get("http://" + address + "/progress")
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	if got := strings.TrimSpace(string(body)); got != `{"stage":"","bytes":0,"total":0}` {
		t.Errorf("got %s", got)
	}
	other, err := http.Get("http://" + address + "/")
	must(t, err)
	defer other.Body.Close()
	if other.StatusCode != http.StatusNotFound {
		t.Errorf("/ answers %d", other.StatusCode)
	}
}

func TestALongMessageKeepsItsBeginningAndItsEnd(t *testing.T) {
	text := "begin " + strings.Repeat("ä", 4000) + " end"
	short := shorten(text)
	if len(short) > maxMessage+10 || !strings.HasPrefix(short, "begin") || !strings.HasSuffix(short, "end") {
		t.Errorf("%d bytes: %s", len(short), short)
	}
}
