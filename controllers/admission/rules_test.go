package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/admission"
)

func TestWhatAUserMayWriteIsAdmitted(t *testing.T) {
	g := newGate(t)
	for _, row := range accepted {
		t.Run(row.name, func(t *testing.T) {
			object := cluster(t, row.change)
			if errs := g.create(t, object); len(errs) > 0 {
				t.Errorf("the schema refuses it: %v", errs.ToAggregate())
			}
			if errs := admission.Validate(typed(t, object)); len(errs) > 0 {
				t.Errorf("the operator refuses it: %v", errs.ToAggregate())
			}
		})
	}
}

func TestWhatIsWrongIsRefusedWithASentence(t *testing.T) {
	g := newGate(t)
	for _, row := range refused {
		t.Run(row.name, func(t *testing.T) {
			object := cluster(t, row.change)
			errs := g.create(t, object.DeepCopy())
			if row.says == "" {
				if len(errs) > 0 {
					t.Errorf("the schema sees it, so the row should say what it says: %v", errs.ToAggregate())
				}
			} else {
				saysOnce(t, "the schema", errs, row.schemaField(), row.says)
			}
			if row.inCode != "" {
				saysOnce(t, "the operator", admission.Validate(typed(t, object)), row.field, row.codeSays())
			}
		})
	}
}

// Kubernetes' own code takes minutes to read such a quantity, and would do so in the API server. That it was read at
// all is what shows in the time: a busy machine takes a second for what needs a tenth of it.
func TestAnAbsurdQuantityIsRefusedBeforeAnythingReadsIt(t *testing.T) {
	g := newGate(t)
	for _, absurd := range []string{
		"1e-2000000000", "-1e-2000000000", "1e2000000000", "1E-200000000", "1e-999999999.", "1e-2000000000m", strings.Repeat("9", 100000),
	} {
		for _, at := range []string{
			"spec: {storage: {size: '%s'}}", "spec: {etcd: {quotaBackendBytes: '%s'}}", "spec: {pod: {resources: {requests: {cpu: '%s'}}}}",
			"spec: {storage: {ephemeral: {medium: Memory}}, pod: {resources: {limits: {memory: '%s'}}}}",
		} {
			object := cluster(t, fmt.Sprintf(at, absurd))
			begin := time.Now()
			errs := g.create(t, object)
			if took := time.Since(begin); len(errs) == 0 || took > 20*time.Second {
				t.Errorf("%s with %.20s: after %s the errors are %v", at, absurd, took, errs)
			}
		}
	}
}

func TestAWrongChangeIsRefusedAndPuttingTheOldValueBackRecovers(t *testing.T) {
	g := newGate(t)
	for _, row := range refused {
		if row.field == "metadata.name" {
			continue // a name never changes
		}
		t.Run(row.name, func(t *testing.T) {
			good, bad := cluster(t), cluster(t, row.change)
			errs := g.update(t, bad.DeepCopy(), good.DeepCopy())
			if row.says != "" {
				saysOnce(t, "the schema", errs, row.field, row.says)
				return // it was never stored
			}
			if len(errs) > 0 {
				t.Fatalf("the schema does not see it on creation and refuses it on a change: %v", errs.ToAggregate())
			}
			if errs := g.update(t, good.DeepCopy(), bad); len(errs) > 0 {
				t.Errorf("the old value cannot be put back: %v", errs.ToAggregate())
			}
			if errs := admission.Validate(typed(t, good)); len(errs) > 0 {
				t.Errorf("the operator refuses the old value: %v", errs.ToAggregate())
			}
		})
	}
}

func TestAWrongValueThatIsStoredDoesNotStopOtherChanges(t *testing.T) {
	g := newGate(t)
	// Stored by a definition without the rule: the number of members is put right and the repository is not touched.
	wrong := "spec: {image: {repository: 'registry.example.com/etcd:3.6'}, size: 1}"
	errs := g.update(t, cluster(t, wrong, "spec: {size: 3}"), cluster(t, wrong))
	if len(errs) > 0 {
		t.Errorf("a value that is not touched is refused: %v", errs.ToAggregate())
	}
}

func TestWhatMayNotChangeOnAnExistingCluster(t *testing.T) {
	g := newGate(t)
	for _, row := range append(changes, changesOfOlder...) {
		t.Run(row.name, func(t *testing.T) {
			errs := g.update(t, cluster(t, row.after), cluster(t, row.before))
			if row.says == "" {
				if len(errs) > 0 {
					t.Errorf("the change is refused: %v", errs.ToAggregate())
				}
				return
			}
			saysOnce(t, "the schema", errs, row.field, row.says)
		})
	}
}

func TestWhatOnlyAnOlderDefinitionLetInIsNotCreatedAnew(t *testing.T) {
	g := newGate(t)
	for _, row := range changesOfOlder {
		if errs := g.create(t, cluster(t, row.before)); len(errs) == 0 {
			t.Errorf("%s: it may be created, so its row belongs in changes", row.name)
		}
	}
}

func TestAClusterThatLoosensItsPodsAlreadyIsKeptAliveAndNotMadeAnew(t *testing.T) {
	c := typed(t, cluster(t, annotated("unconfined")))
	saysOnce(t, "the operator", admission.Validate(c), "spec.pod.annotations", "spec.pod.annotations"+loosened)
	if errs := admission.ValidateExisting(c); len(errs) > 0 {
		t.Errorf("one that exists is not followed any more: %v", errs.ToAggregate())
	}
}

func TestNetworksThatOnlyALoadBalancerLooksAtCloseNoNodePort(t *testing.T) {
	c := typed(t, cluster(t, "spec: {tls: {mode: Disabled}, service: {type: NodePort, loadBalancerSourceRanges: [203.0.113.0/24]}}"))
	saysOnce(t, "the operator", admission.Validate(c), "spec.service", exposed("NodePort"))
}

func TestTheStatusStartsBeforeTheFirstLook(t *testing.T) {
	g := newGate(t)
	object := cluster(t)
	if errs := g.create(t, object); len(errs) > 0 {
		t.Fatalf("creating the smallest cluster: %v", errs.ToAggregate())
	}
	if got := typed(t, object).Status.ObservedGeneration; got != -1 {
		t.Errorf("observedGeneration is %d, want -1", got)
	}
}

func TestEverySentenceOfTheOperatorEndsUpInTheMessage(t *testing.T) {
	errs := admission.Validate(typed(t, cluster(t, `spec: {size: 2, version: "3.4.1"}`)))
	const want = "spec.size is 2; it must be 1, 3, 5 or 7, or 0 to have the cluster sleep. An even number of members survives no more failures than one " +
		"member less, and needs more of them to agree. etcd 3.4.1 is of a minor this operator does not know; it knows " +
		"3.5, 3.6, 3.7. Use 3.5.35"
	if got := admission.Message(errs); got != want {
		t.Errorf("the message is %q\nwant %q", got, want)
	}
}

func TestAStoredTimeThatTheSchemaRefusesIsToldWithTheOneThatCounts(t *testing.T) {
	for change, want := range map[string]string{
		"spec: {repair: {replaceAfter: 5s}}": "spec.repair.replaceAfter is 5s, and counts as 5m0s. Set it to at least 30s, or to 0 for never.",
		"spec: {repair: {keepVolumes: -1h}}": "spec.repair.keepVolumes is -1h0m0s, and counts as 24h0m0s. Set it to a time such as 24h, " +
			"or to 0 to keep none.",
		"spec: {backups: {maxAge: 59s}}":                                               "spec.backups.maxAge is 59s, and counts as not set. Set it to at least 1m, or to 0 for any age.",
		"spec: {repair: {replaceAfter: '0', keepVolumes: 0s}, backups: {maxAge: '0'}}": "",
		"spec: {repair: {replaceAfter: 30s, keepVolumes: 1h}, backups: {maxAge: 1m}}":  "",
	} {
		if got := admission.Warnings(typed(t, cluster(t, change))); strings.Join(got, "|") != want {
			t.Errorf("%s: %q", change, got)
		}
	}
}

func TestAComparisonThatMayNeverHappenIsWarnedOf(t *testing.T) {
	for change, want := range map[string]string{
		"spec: {etcd: {autoCompaction: {retention: '0'}}}":                          "only where a client compacts",
		"spec: {etcd: {autoCompaction: {mode: revision, retention: '0'}}}":          "only where a client compacts",
		"spec: {etcd: {autoCompaction: {retention: '0'}, corruptionChecks: false}}": "",
		"spec: {size: 1, etcd: {autoCompaction: {retention: '0'}}}":                 "",
		"spec: {size: 1, etcd: {corruptionChecks: true}}":                           "the only member has no other",
		"spec: {size: 1}": "",
		"spec: {etcd: {autoCompaction: {retention: 5m}, corruptionChecks: true}}": "",
	} {
		got := strings.Join(admission.Warnings(typed(t, cluster(t, change))), "|")
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", change, got)
		}
	}
}

func TestKnownVulnerabilitiesAreNamedWithThePatchThatEndsThem(t *testing.T) {
	want := "etcd 3.6.13 has known vulnerabilities: GHSA-xg4h-6gfc-h4m8, GHSA-6vch-q96h-7gc3, GHSA-w67g-5rqw-f597 " +
		"(gorilla/websocket), CVE-2026-56852 (golang.org/x/text). They are fixed in 3.6.15. Set spec.version to 3.6.16."
	c := typed(t, cluster(t, `spec: {version: "3.6.13"}`))
	if got := admission.Warnings(c); !slices.Contains(got, want) {
		t.Errorf("%q", got)
	}
	if errs := admission.Validate(c); len(errs) > 0 {
		t.Errorf("it is refused: %v", errs.ToAggregate())
	}
}

func TestWhatIsAcceptedAndNotWiseIsWarnedOf(t *testing.T) {
	for _, row := range []struct {
		name, change string
		want         int
	}{
		{"the newest patch needs no warning", "", 0},
		{"a patch with known defects is warned of", `spec: {version: "3.6.15"}`, 1},
		{"a patch with known vulnerabilities is warned of them, too", `spec: {version: "3.6.13"}`, 2},
		{"a pre-release is warned of", `spec: {version: "3.8.0-alpha.0"}`, 1},
		{"digests that lack the version are warned of", `spec: {image: {digests: {"3.6.15": "` + someDigest + `"}}}`, 1},
		{"digests that have the version need no warning", `spec: {version: "v3.6.16", image: {digests: {"3.6.16": "` + someDigest + `"}}}`, 0},
		{"a quota of 8Gi needs no warning", "spec: {etcd: {quotaBackendBytes: 8Gi}}", 0},
		{"a quota above 8Gi is warned of", "spec: {etcd: {quotaBackendBytes: 8193Mi}}", 1},
		{"a restart that was asked for needs no warning",
			`metadata: {annotations: {"etcdsteward.dev/restartedAt": "2026-01-31T12:00:00Z"}}`, 0},
		{"a restart for nothing is warned of", `metadata: {annotations: {"etcdsteward.dev/restartedAt": ""}}`, 1},
		{"a restart for what cannot be printed is warned of",
			`metadata: {annotations: {"etcdsteward.dev/restartedAt": "now\n"}}`, 1},
		{"a window that was asked for needs no warning",
			`metadata: {annotations: {"etcdsteward.dev/maintenance": "2026-01-31T12:00:00Z"}}`, 0},
		{"a window that opens at no time is warned of", `metadata: {annotations: {"etcdsteward.dev/maintenance": now}}`, 1},
		{"annotations that loosen Pods are warned of, which an older definition let in",
			"spec: {tasks: {annotations: {container.apparmor.security.beta.kubernetes.io/snapshot: unconfined}}, " +
				"pod: {annotations: {container.apparmor.security.beta.kubernetes.io/etcd: unconfined}}}", 2},
		{"a version that is refused has no warning beside the refusal", `spec: {version: "3.5.13"}`, 0},
		{"what is no version is an error and no warning", `spec: {version: "latest"}`, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := admission.Warnings(typed(t, cluster(t, row.change))); len(got) != row.want {
				t.Errorf("warnings: %q, want %d", got, row.want)
			}
		})
	}
}

func TestARequestToLeadThatNamesNoMemberOrNoTimeIsWarnedOf(t *testing.T) {
	c := typed(t, cluster(t))
	for value, isGood := range map[string]bool{c.Name + "-1@2026-01-31T12:00:00Z": true, c.Name + "-1": false,
		c.Name + "-1@now": false, "other-1@2026-01-31T12:00:00Z": false, "": false} {
		c.Annotations = map[string]string{v1alpha1.AnnotationMoveLeader: value}
		got := admission.Warnings(c)
		if isWarned := len(got) == 1 && strings.Contains(got[0], "moves no leadership. Set it to a member and the time"); isWarned == isGood {
			t.Errorf("%q: %q", value, got)
		}
	}
}

func TestATimeForAnotherCAThatIsNoneIsWarnedOf(t *testing.T) {
	c := typed(t, cluster(t))
	for value, isGood := range map[string]bool{"2026-01-31T12:00:00Z": true, "1h@2026-01-31T12:00:00Z": true, "0s@2026-01-31T12:00:00Z": true,
		"-1h@2026-01-31T12:00:00Z": false, "soon@2026-01-31T12:00:00Z": false, "1h@now": false, "now": false, "": false} {
		c.Annotations = map[string]string{v1alpha1.AnnotationRotateCA: value}
		got := admission.Warnings(c)
		if isWarned := len(got) == 1 && strings.Contains(got[0], "replaces no CA. Set it to the time"); isWarned == isGood {
			t.Errorf("%q: %q", value, got)
		}
	}
}

func TestANameThatNoMemberCanHaveIsWarnedOf(t *testing.T) {
	c := typed(t, cluster(t))
	for _, annotation := range []string{v1alpha1.AnnotationReplace, v1alpha1.AnnotationFence} {
		c.Annotations = map[string]string{annotation: c.Name + "-1," + c.Name}
		got := admission.Warnings(c)
		want := annotation + " names \"" + c.Name + "\", which is no member's name"
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q", got)
		}
	}
}
