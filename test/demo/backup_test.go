package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

const key = "default/demo/0b4c2d1e/20260102T030405Z-abc/snapshot.db"

func is(kind string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: "Because", Message: "of this"}
}

// fakeKubectl keeps what is applied in a file, and answers each get with the next of these statuses, the last for ever.
func fakeKubectl(t *testing.T, statuses ...v1alpha1.EtcdBackupStatus) (kube, string) {
	t.Helper()
	dir := t.TempDir()
	for i, s := range statuses {
		text, err := json.Marshal(v1alpha1.EtcdBackup{Status: s})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := `cd ` + dir + `
if [ "$1" = apply ]; then cat >>applied; exit; fi
n=$(cat n 2>/dev/null || echo 0); cat $n; if [ -e $((n+1)) ]; then echo $((n+1)) >n; fi`
	return kube{command: []string{"/bin/sh", "-c", script, "kubectl"}}, filepath.Join(dir, "applied")
}

func TestTheDemoEndsWhenTheBackupIsProvenAndTheServerHasIt(t *testing.T) {
	server := s3server.Start(t, s3server.Versitygw, s3server.Options{TLS: true})
	body := []byte("a snapshot")
	_, err := server.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &server.Bucket, Key: new(key), Body: bytes.NewReader(body)})
	if err != nil {
		t.Fatal(err)
	}
	proven := v1alpha1.EtcdBackupStatus{
		Conditions: []metav1.Condition{is(v1alpha1.BackupComplete, metav1.ConditionTrue), is(v1alpha1.BackupVerified, metav1.ConditionTrue)},
		Key:        key, SizeBytes: int64(len(body)), Revision: 7, TotalKeys: 3,
	}
	for name, c := range map[string]struct {
		size int64
		ok   bool
	}{"all of it": {proven.SizeBytes, true}, "not all of it": {proven.SizeBytes + 1, false}} {
		proven.SizeBytes = c.size
		kubectl, applied := fakeKubectl(t, v1alpha1.EtcdBackupStatus{Stage: "Snapshot"}, proven)
		d := demo{kube: kubectl, patience: time.Minute, begin: time.Now()}
		if err := d.backUpTo(t.Context(), server.Access); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		text, err := os.ReadFile(applied)
		if err != nil {
			t.Fatal(err)
		}
		for _, wanted := range []string{server.SecretAccessKey, "BEGIN CERTIFICATE", `"kind":"EtcdBackup"`, server.Endpoint} {
			if !strings.Contains(string(text), wanted) {
				t.Errorf("%s: nothing that was applied has %s", name, wanted)
			}
		}
	}
}

func TestABackupIsProvenOnlyWhenItIsCompleteAndVerified(t *testing.T) {
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		done, ok   bool
	}{
		"nothing is said": {nil, false, true},
		"it runs":         {[]metav1.Condition{is(v1alpha1.BackupComplete, metav1.ConditionFalse), is(v1alpha1.BackupVerified, metav1.ConditionFalse)}, false, true},
		"proven":          {[]metav1.Condition{is(v1alpha1.BackupComplete, metav1.ConditionTrue), is(v1alpha1.BackupVerified, metav1.ConditionTrue)}, true, true},
		"complete only":   {[]metav1.Condition{is(v1alpha1.BackupComplete, metav1.ConditionTrue), is(v1alpha1.BackupVerified, metav1.ConditionFalse)}, true, false},
		"failed":          {[]metav1.Condition{is(v1alpha1.BackupComplete, metav1.ConditionFalse), is(v1alpha1.BackupFailed, metav1.ConditionTrue)}, true, false},
	} {
		done, err := ended(v1alpha1.EtcdBackupStatus{Conditions: c.conditions})
		if done != c.done || (err == nil) != c.ok {
			t.Errorf("%s: done %v, %v", name, done, err)
		}
	}
}

func TestWaitingForABackupEndsWithTheLastThingItDid(t *testing.T) {
	kubectl, _ := fakeKubectl(t, v1alpha1.EtcdBackupStatus{Stage: "Fetch", BytesTransferred: new(int64(3 << 20)), BytesTotal: new(int64(4 << 20))})
	d := demo{kube: kubectl, patience: 500 * time.Millisecond, begin: time.Now()}
	_, err := d.untilVerified(t.Context(), "demo-1")
	if err == nil || !strings.Contains(err.Error(), "last: Fetch  3.0 MiB of 4.0 (see `kubectl describe etcdbackup demo-1`)") {
		t.Errorf("got %v", err)
	}
}

func TestTheLastLineSaysWhatIsInTheBackupAndWhereItLies(t *testing.T) {
	got := summary("demo-backups", v1alpha1.EtcdBackupStatus{Key: key, TotalKeys: 3, Revision: 7})
	if want := "demo: backup Verified, 3 key(s) at revision 7, in s3://demo-backups/" + key; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTwoRunsOfTheDemoMakeTwoBackups(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first, second := newBackup(s3server.Access{}, now).Name, newBackup(s3server.Access{}, now.Add(time.Second)).Name
	if first != "demo-20260102-030405" || second == first {
		t.Errorf("got %s and %s", first, second)
	}
}
