package accessplan

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

const mebi = 1 << 20

// limited is a client with a quota of 8Mi that is a day old, and a backup from an hour ago that has it with so many bytes.
func limited(bytes int64, edits ...func(*Observation)) Observation {
	o := settled()
	taken := o.Now.Add(-time.Hour)
	o.Quota = Quota{Limit: 8 * mebi, Text: "8Mi", Created: o.Now.Add(-24 * time.Hour), Backup: &Backup{Name: "nightly", Time: taken,
		Clients: []v1alpha1.ClientUsage{{Name: "large", User: "large", Bytes: 100 * mebi}, {Name: "shop", User: "shop-user", Keys: 7, Bytes: bytes}}}}
	for _, edit := range edits {
		edit(&o)
	}
	return o
}

// unlisted is one whose backup names one client of so many bytes, and says of others that there are.
func unlisted(last, others int64) func(*Observation) {
	return func(o *Observation) {
		o.Quota.Backup.Clients, o.Quota.Backup.Others = []v1alpha1.ClientUsage{{Name: "large", User: "large", Bytes: last}}, others
	}
}

func statusOf(o Observation, old v1alpha1.EtcdClientStatus) v1alpha1.EtcdClientStatus {
	return Status(o, Next(o), 3, old)
}

func TestWhetherAClientIsWithinItsQuotaIsWhatTheNewestBackupSays(t *testing.T) {
	for name, row := range map[string]struct {
		o      Observation
		status string
		reason string
		says   string
		usage  bool
	}{
		"less":    {limited(3*mebi + 1), "True", ReasonWithinQuota, "The 7 keys that the client may write take 3073Ki of 8Mi", true},
		"as much": {limited(8 * mebi), "True", ReasonWithinQuota, "by EtcdBackup nightly of 2026-03-01T11:00:00Z", true},
		"more": {limited(800 * mebi), "False", ReasonQuotaExceeded, "take 800Mi with their history, by EtcdBackup nightly of 2026-03-01T11:00:00Z, " +
			"and spec.quota is 8Mi. The operator stops no write. Delete keys, let history be compacted, or raise spec.quota.", true},
		"no backup":             {limited(0, func(o *Observation) { o.Quota.Backup = nil }), "Unknown", ReasonNotMeasured, "Create an EtcdBackup or", false},
		"a backup that is lost": {limited(0, func(o *Observation) { o.Quota.Backup, o.Quota.Why = nil, "no Secret" }), "Unknown", ReasonNotMeasured, "no Secret", false},
		"a backup from before it": {limited(800*mebi, func(o *Observation) { o.Quota.Created = o.Now }), "Unknown", ReasonNotMeasured,
			"is from before this EtcdClient", false},
		"a backup that names all others":     {limited(0, unlisted(mebi, 0)), "Unknown", ReasonNotMeasured, "does not say what the client takes", false},
		"a backup that names none":           {limited(0, func(o *Observation) { o.Quota.Backup.Clients = nil }), "Unknown", ReasonNotMeasured, "an earlier release", false},
		"one of the smaller ones":            {limited(0, unlisted(8*mebi, 3)), "True", ReasonWithinQuota, "Its keys take at most 8192Ki of 8Mi", false},
		"one of many that may have more":     {limited(0, unlisted(8*mebi+1, 3)), "Unknown", ReasonNotMeasured, "It takes at most 8193Ki", false},
		"one of that name and another user":  {limited(800*mebi, func(o *Observation) { o.Client.User = "other" }), "Unknown", ReasonNotMeasured, "", false},
		"one of that name in another place":  {limited(800*mebi, outside), "Unknown", ReasonNotMeasured, "", false},
		"one whose cluster does not let ask": {limited(800*mebi, func(o *Observation) { o.Cluster.Asleep = true }), "False", ReasonQuotaExceeded, "", true},
	} {
		status := statusOf(row.o, v1alpha1.EtcdClientStatus{})
		c := meta.FindStatusCondition(status.Conditions, v1alpha1.ClientWithinQuota)
		if c == nil || string(c.Status) != row.status || c.Reason != row.reason || !strings.Contains(c.Message, row.says) {
			t.Errorf("%s: %+v", name, c)
		}
		if u := status.Usage; (u != nil) != row.usage || u != nil && (u.Keys != 7 || u.Backup != "nightly" || !u.Time.Equal(&status.Usage.Time)) {
			t.Errorf("%s: %+v", name, status.Usage)
		}
		without := row.o
		without.Quota = Quota{}
		if plain := statusOf(without, v1alpha1.EtcdClientStatus{}); len(plain.Conditions) != 1 || plain.Usage != nil ||
			!reflect.DeepEqual(plain.Conditions[0], status.Conditions[0]) || !reflect.DeepEqual(Next(row.o), Next(without)) {
			t.Errorf("%s: a quota changes what is done, or how Ready is: %+v", name, status.Conditions[0])
		}
	}
}

func TestThatAQuotaIsExceededIsToldOnceEachTimeThatItTurns(t *testing.T) {
	status, told := v1alpha1.EtcdClientStatus{}, 0
	for _, bytes := range []int64{1, 9 * mebi, 10 * mebi, 1, 9 * mebi} {
		o := limited(bytes)
		now := statusOf(o, status)
		for _, event := range Events(Next(o), status, now) {
			if event.Reason == EventQuotaExceeded {
				told++
				if !event.Warning || !strings.Contains(event.Note, "spec.quota is 8Mi") {
					t.Errorf("%+v", event)
				}
			}
		}
		status = now
	}
	if told != 2 {
		t.Errorf("it is told %d times", told)
	}
}

func TestAStatusThatSaysThatAQuotaIsExceededDecidesNothing(t *testing.T) {
	exceeded := statusOf(limited(800*mebi), v1alpha1.EtcdClientStatus{})
	if got := meta.FindStatusCondition(statusOf(limited(1), exceeded).Conditions, v1alpha1.ClientWithinQuota); got.Reason != ReasonWithinQuota {
		t.Errorf("%+v", got)
	}
}
