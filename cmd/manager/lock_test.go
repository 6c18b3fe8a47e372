package main

import (
	"testing"

	"k8s.io/client-go/rest"
)

func TestTheLeaseIsKnownByTheNameThatTheElectionUses(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "ops")
	lock, err := newLock(&rest.Config{Host: "localhost"}, true)
	if err != nil {
		t.Fatal(err)
	}
	lease := lock.lease()
	if lease.Namespace != "ops" || lease.Name != leaseName || lease.Identity == "" || lease.Now == nil {
		t.Errorf("%+v", lease)
	}
	elected := managerOptions(options{leaderElect: true}, lock).LeaderElectionResourceLockInterface
	if elected.Identity() != lease.Identity || elected.Describe() != lease.String() {
		t.Errorf("the manager elects by %s as %s", elected.Describe(), elected.Identity())
	}
	second, err := newLock(&rest.Config{Host: "localhost"}, true)
	if err != nil || second.lease().Identity == lease.Identity {
		t.Errorf("two processes are both called %s: %v", lease.Identity, err)
	}
}

func TestTheElectionIntroducesItselfWithoutChangingHowTheOperatorDoes(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "here")
	config := &rest.Config{Host: "https://127.0.0.1:1", UserAgent: "etcd-steward/v1"}
	if _, err := newLock(config, true); err != nil {
		t.Fatal(err)
	}
	if config.UserAgent != "etcd-steward/v1" {
		t.Errorf("every request of the operator would say %q", config.UserAgent)
	}
}

func TestWithoutAnElectionThereIsNoLease(t *testing.T) {
	lock, err := newLock(&rest.Config{Host: "localhost"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if lock.lease() != nil || managerOptions(options{}, lock).LeaderElectionResourceLockInterface != nil {
		t.Error("there is one")
	}
}
