package backup

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"google.golang.org/protobuf/proto"
)

// right is what a role may do, as etcd holds it.
func right(kind authpb.Permission_Type, key, end string) *authpb.Permission {
	return &authpb.Permission{PermType: kind, Key: []byte(key), RangeEnd: []byte(end)}
}

func writes(key, end string) *authpb.Permission { return right(authpb.READWRITE, key, end) }

// grant puts roles where etcd keeps them.
func (l *library) grant(roles map[string][]*authpb.Permission) {
	l.t.Helper()
	tx := l.backend.BatchTx()
	tx.Lock()
	defer tx.Unlock()
	tx.UnsafeCreateBucket(schema.AuthRoles)
	for name, rights := range roles {
		value, err := proto.Marshal(&authpb.Role{Name: []byte(name), KeyPermission: rights})
		must(l.t, err)
		tx.UnsafePut(schema.AuthRoles, []byte(name), value)
	}
}

// mayWrite is the rule of etcd, said once more.
func mayWrite(rights []*authpb.Permission, key string) bool {
	return slices.ContainsFunc(rights, func(p *authpb.Permission) bool {
		from, end := string(p.GetKey()), string(p.GetRangeEnd())
		isIn := key == from && end == "" || end == "\x00" && key >= from || end != "" && end != "\x00" && key >= from && key < end
		return p.GetPermType() != authpb.READ && isIn
	})
}

// weighedByHand is what etcd's own store says of the keys that rights let be written, and what is in the file.
func (l *library) weighedByHand(path string, rights []*authpb.Permission) Client {
	l.t.Helper()
	var sum Client
	result, err := l.store.Range(l.t.Context(), []byte{0}, []byte{}, mvcc.RangeOptions{})
	must(l.t, err)
	for _, kv := range result.KVs {
		if mayWrite(rights, string(kv.Key)) {
			sum.Keys++
		}
	}
	must(l.t, withDatabase(path, func(tx *bolt.Tx) error {
		return tx.Bucket(bucketKey).ForEach(func(k, v []byte) error {
			var kv mvccpb.KeyValue
			must(l.t, proto.Unmarshal(v, &kv))
			if mayWrite(rights, string(kv.Key)) {
				sum.Bytes += int64(len(k) + len(v))
				sum.Revisions++
			}
			return nil
		})
	}))
	return sum
}

// weighed is what a census says of clients, with so little memory that it goes several times.
func weighed(t *testing.T, path string) (all []Client, others int) {
	t.Helper()
	must(t, withDatabase(path, func(tx *bolt.Tx) error {
		facts, err := readFacts(tx)
		must(t, err)
		d, w := databaseOf(tx), weighing(0)
		d.keysAtOnce = 2
		w.clients = readClients(tx)
		_, _, err = d.census(facts.span(), w)
		must(t, err)
		all, others = w.clients.largest()
		return nil
	}))
	return all, others
}

// grants are rights of every kind: beside, within and across one another, twice, and with no key in them.
func grants(r *rand.Rand) []*authpb.Permission {
	kinds := []authpb.Permission_Type{authpb.READ, authpb.WRITE, authpb.READWRITE}
	ranges := [][2]string{{"a", ""}, {"b:c", ""}, {"/r/", "/r0"}, {"/r/pods/", "/r/pods0"}, {"/r/pods/y/2", ""}, {"/r/pods/y/2", "/r/pods/y/3"},
		{"/r/pods/y/3", "/r/pods0"}, {"\x00", "\x00"}, {"team/", "\x00"}, {"none/", "none0"}, {"z", "a"}, {"\xff/", "\x00"}, {"a\x00", "b"}}
	var all []*authpb.Permission
	for range 1 + r.IntN(6) {
		one := ranges[r.IntN(len(ranges))]
		all = append(all, right(kinds[r.IntN(len(kinds))], one[0], one[1]))
	}
	return all
}

func TestEachClientHasTheKeysThatItMayWriteOnceAfterAnyHistory(t *testing.T) {
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 11))
			l := openLibrary(t, filepath.Join(t.TempDir(), "db"))
			defer l.close()
			l.changePaths(r, 20+r.IntN(40))
			if seed%4 != 0 {
				l.compact(2 + r.Int64N(l.store.Rev()-2))
			}
			roles := map[string][]*authpb.Permission{}
			for i := range 1 + r.IntN(5) {
				roles[fmt.Sprintf("%sapp-%d/app-%d", clientRoles, i, i)] = grants(r)
			}
			l.grant(roles)
			path := l.copy()
			got, others := weighed(t, path)
			if len(got) != len(roles) || others != 0 {
				t.Fatalf("of %d clients it says %v and %d others", len(roles), got, others)
			}
			for i, client := range got {
				want := l.weighedByHand(path, roles[clientRoles+client.Name])
				want.Name = client.Name
				if client != want {
					t.Errorf("it says %+v, and etcd %+v of %v", client, want, roles[clientRoles+client.Name])
				}
				if i > 0 && got[i-1].Bytes < client.Bytes {
					t.Errorf("%v are not in order", got)
				}
			}
		})
	}
}

func TestOnlyRolesThatTheOperatorMadeForClientsAreToldOf(t *testing.T) {
	said, text := compared(t, 0, func(l *library) {
		putAll(l, "hush", "shop/1", "shop/2", "team/cart/1")
		l.grant(map[string][]*authpb.Permission{
			"root": {writes("\x00", "\x00")}, "people": {writes("shop/", "shop0")}, "etcdsteward.de/a/b": {writes("shop/", "shop0")},
			clientRoles + "shop/shop": {writes("shop/", "shop0")}, clientRoles + "team/cart/team.cart": {writes("team/cart/", "team/cart0")},
			clientRoles + "reader/reader": {right(authpb.READ, "\x00", "\x00")},
			clientRoles + "odd":           {writes("\x00", "\x00")}, clientRoles + "a/b/c/d": {writes("\x00", "\x00")},
			clientRoles + "\x1b[2J/b": {writes("\x00", "\x00")}, clientRoles + "a/<b>": {writes("\x00", "\x00")}, clientRoles: {writes("\x00", "\x00")},
		})
	})
	var names []string
	for _, c := range said.Clients {
		names = append(names, fmt.Sprintf("%s %d %d", c.Name, c.Keys, c.Revisions))
	}
	if want := "shop/shop 2 2, team/cart/team.cart 1 1, reader/reader 0 0"; strings.Join(names, ", ") != want {
		t.Errorf("it says %v, want %s: %s", names, want, text)
	}
	for _, hidden := range []string{"hush", "shop/1", "people", "root", "odd", "largest"} {
		if strings.Contains(text, hidden) {
			t.Errorf("it says %q: %s", hidden, text)
		}
	}
}

func TestClientsAndPrefixesShareTheRoomThatAStepHas(t *testing.T) {
	const ofSevenContainers = 12 << 10 / 7
	for name, row := range map[string]struct{ name, prefix string }{
		"short": {"app-%02d/app-%02d", "p%d/x"},
		"long": {strings.Repeat("n", 63) + "/" + strings.Repeat("c", 61) + "%02d/" + strings.Repeat("u", 62) + "%02d",
			strings.Repeat("<", longestPrefix-4) + "%02d/x"},
	} {
		roles := map[string][]*authpb.Permission{}
		said, text := compared(t, 1, func(l *library) {
			for i := range 30 {
				key := fmt.Sprintf(row.prefix, i)
				putAll(l, strings.Repeat("v", 100*(i+1)), key)
				roles[clientRoles+fmt.Sprintf(row.name, i, i)] = []*authpb.Permission{writes(key, "")}
			}
			l.grant(roles)
		})
		if len(text) > ofSevenContainers || len(said.Clients) == 0 || len(said.Largest) == 0 || len(said.Clients)+said.OtherClients != 30 {
			t.Errorf("%s: %d bytes, %d clients and %d others, %d prefixes: %s", name, len(text), len(said.Clients), said.OtherClients, len(said.Largest), text)
		}
		if name == "short" && (len(said.Clients) < mostClients*3/4 || len(said.Largest) != mostLargest || !strings.HasPrefix(said.Clients[0].Name, "app-29/")) {
			t.Errorf("%d clients, %d prefixes: %s", len(said.Clients), len(said.Largest), text)
		}
	}
}

func TestMoreRangesThanAreRememberedOrARoleThatCannotBeReadCostABackupNothing(t *testing.T) {
	for name, roles := range map[string]func(l *library){
		"many": func(l *library) {
			many := map[string][]*authpb.Permission{}
			for i := range mostBounds/2 + 1 {
				many[fmt.Sprintf("%sa-%d/a", clientRoles, i)] = []*authpb.Permission{writes(fmt.Sprint(i), "")}
			}
			l.grant(many)
		},
		"long": func(l *library) {
			l.grant(map[string][]*authpb.Permission{clientRoles + "a/a": {writes(strings.Repeat("k", mostOfBounds), "")}})
		},
		"broken": func(l *library) {
			l.grant(nil)
			tx := l.backend.BatchTx()
			tx.Lock()
			defer tx.Unlock()
			tx.UnsafePut(schema.AuthRoles, []byte(clientRoles+"a/a"), []byte("no role"))
		},
		"none": func(l *library) { l.grant(nil) },
	} {
		said, text := compared(t, 1, func(l *library) {
			putAll(l, "v", "a/1")
			roles(l)
		})
		if len(said.Clients) != 0 || said.OtherClients != 0 || len(said.Largest) != 1 {
			t.Errorf("%s: it says %.400s", name, text)
		}
	}
}

func TestAClientIsWrittenInFewBytes(t *testing.T) {
	text, err := json.Marshal(Client{Name: "team/cart/team.cart", Keys: 5, Bytes: 9000, Revisions: 20})
	if string(text) != `["team/cart/team.cart",5,9000,20]` || err != nil {
		t.Errorf("it is written %s (%v)", text, err)
	}
}
