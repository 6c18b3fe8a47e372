package pki

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// rolling are three members on etcd's own listeners, whose CA is replaced. What is in the files of a member, its
// process shows at once; whom it trusts it read at its start.
type rolling struct {
	ports   []*peerPort
	shown   []Pair   // by member: what it shows
	read    [][]byte // by member: what its process trusts
	written [][]byte // by member: what stands in its files by now
}

func (r *rolling) issue(t *testing.T, member int, by CA, trusts []byte) {
	t.Helper()
	r.shown[member], r.written[member] = by.mustIssue(t, memberHere(), time.Now()), trusts
	r.ports[member].write(t, "tls.crt", r.shown[member].Cert)
	r.ports[member].write(t, "tls.key", r.shown[member].Key)
	r.ports[member].write(t, "ca.crt", trusts)
}

// restart has a member read whom it trusts, as a Pod does that is made anew.
func (r *rolling) restart(t *testing.T, member int) {
	t.Helper()
	r.ports[member].listener.Close()
	r.ports[member] = openPeerPort(t, CA{certPEM: r.written[member]}, r.shown[member])
	r.read[member] = r.written[member]
}

// connected reports that each member takes each other one, in both directions.
func (r *rolling) connected(t *testing.T) (refused string) {
	t.Helper()
	for to, port := range r.ports {
		for from := range r.ports {
			if serial, verdict := port.dial(t, r.read[from], r.shown[from]); verdict != nil || serial == "" {
				return fmt.Sprintf("member %d dials member %d: %v", from, to, verdict)
			}
		}
	}
	return ""
}

func memberHere() Leaf { return member().withIPs().withDNSNames("localhost", member().DNSNames[0]) }

func TestMembersThatAreRestartedOneByOneNeverRefuseEachOtherWhileTheirCAIsReplaced(t *testing.T) {
	now := time.Now()
	old, next := newCA(t, "demo peers", now.Add(-day)), nextCA(t, "demo peers", now)
	both := Bundle(next.CertPEM(), old.CertPEM())
	r := &rolling{ports: make([]*peerPort, 3), shown: make([]Pair, 3), read: make([][]byte, 3), written: make([][]byte, 3)}
	for i := range r.ports {
		r.shown[i] = old.mustIssue(t, memberHere(), now)
		r.ports[i], r.read[i], r.written[i] = openPeerPort(t, old, r.shown[i]), old.CertPEM(), old.CertPEM()
	}
	for _, turn := range []struct {
		name     string
		signs    CA
		trusts   []byte
		restarts bool
	}{{"widen", old, both, true}, {"swap", next, both, false}, {"narrow", next, next.CertPEM(), true}} {
		for i := range r.ports {
			r.issue(t, i, turn.signs, turn.trusts)
			if refused := r.connected(t); refused != "" {
				t.Fatalf("%s: once member %d has its files, %s", turn.name, i, refused)
			}
		}
		for i := range r.ports {
			if !turn.restarts {
				continue
			}
			r.restart(t, i)
			if refused := r.connected(t); refused != "" {
				t.Fatalf("%s: once member %d was restarted, %s", turn.name, i, refused)
			}
		}
	}
	if !bytes.Equal(r.read[0], next.CertPEM()) {
		t.Fatal("members still trust the CA that was replaced")
	}
	r.issue(t, 0, old, next.CertPEM())
	if r.connected(t) == "" {
		t.Error("a certificate of the CA that was replaced is taken: this test cannot fail")
	}
}
