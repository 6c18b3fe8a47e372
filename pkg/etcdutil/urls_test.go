package etcdutil

import "testing"

func TestURLsOfAMember(t *testing.T) {
	for got, want := range map[string]string{
		PeerHost("demo-0", "demo", "ns"):                   "demo-0.demo-peers.ns.svc",
		PeerURL(SchemeHTTPS, "demo-0", "demo", "ns"):       "https://demo-0.demo-peers.ns.svc:2380",
		PeerURL(SchemeHTTP, "demo-0", "demo", "ns"):        "http://demo-0.demo-peers.ns.svc:2380",
		ClientURL(SchemeHTTPS, "demo-12", "demo", "ns"):    "https://demo-12.demo-peers.ns.svc:2379",
		InitialCluster([]NamedURL{{"b", "x"}, {"a", "y"}}): "b=x,a=y",
		InitialCluster(nil):                                "",
		SealedInitialCluster("demo-0", "https://u:2380"):   "demo-0=https://u:2380",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestAPeerURLNamesItsMember(t *testing.T) {
	for _, scheme := range []string{SchemeHTTP, SchemeHTTPS} {
		if name, ok := MemberFromPeerURL(PeerURL(scheme, "demo-7", "demo", "ns"), "demo", "ns"); !ok || name != "demo-7" {
			t.Errorf("got %q, %v", name, ok)
		}
	}
	for _, foreign := range []string{
		"", "demo-0", "https://", "https://demo-0", "https://demo-0.demo-peers.ns.svc:2379", "https://demo-0.demo-peers.other.svc:2380",
		"https://demo-0.other-peers.ns.svc:2380", "https://demo.demo-peers.ns.svc:2380", "https://demo-00.demo-peers.ns.svc:2380",
		"https://demo-0.demo-peers.ns.svc.cluster.local:2380", "https://demo-0.demo-peers.ns.svc:2380/", "ftp://demo-0.demo-peers.ns.svc:2380",
		"HTTPS://demo-0.demo-peers.ns.svc:2380", "https://10.0.0.1:2380", "https://https://demo-0.demo-peers.ns.svc:2380",
	} {
		if name, ok := MemberFromPeerURL(foreign, "demo", "ns"); ok {
			t.Errorf("%q is the member %s", foreign, name)
		}
	}
}

func FuzzMemberFromPeerURLAcceptsOnlyWhatPeerURLMakes(f *testing.F) {
	f.Add("https://demo-0.demo-peers.ns.svc:2380", "demo", "ns")
	f.Add("http://a.b-1.c-peers.d.svc:2380", "a.b", "d")
	f.Fuzz(func(t *testing.T, url, cluster, namespace string) {
		name, ok := MemberFromPeerURL(url, cluster, namespace)
		if ok && url != PeerURL(SchemeHTTP, name, cluster, namespace) && url != PeerURL(SchemeHTTPS, name, cluster, namespace) {
			t.Errorf("%q is the member %q", url, name)
		}
	})
}
