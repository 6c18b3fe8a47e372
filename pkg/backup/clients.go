package backup

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"sort"
	"strings"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/authpb"
	"google.golang.org/protobuf/proto"
)

// Client is a client of the cluster, and what all keys take that it may write.
type Client struct {
	// Name is that of its role without what begins all of them: shop/shop, or team/cart/team.cart.
	Name      string
	Keys      int64 // that exist
	Bytes     int64 // of all that is stored of these keys, as with a Prefix
	Revisions int64
}

// MarshalJSON writes ["shop/shop",5,9000,20]: the last words of a step have little room.
func (c Client) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{c.Name, c.Keys, c.Bytes, c.Revisions})
}

const (
	// clientRoles begins the names of the roles that the operator makes for clients.
	clientRoles = "etcdsteward.dev/"
	mostClients = 20
	// roomForClients is of roomForLargest. What clients do not need, prefixes have.
	roomForClients = 700
	// mostBounds and mostOfBounds are how many bounds of ranges are remembered, and how many bytes of them. That is
	// enough for 1,000 clients. Where there are more, no client is weighed.
	mostBounds   = 20_000
	mostOfBounds = 2 << 20
)

// clientRole is a name that the operator gives: of a namespace, of an EtcdClient, and of a user. Others are people's.
var clientRole = regexp.MustCompile(`^([a-z0-9-]{1,63}/)?[a-z0-9-]{1,63}/[A-Za-z0-9._-]{1,64}$`)

// keyRange is from a key up to another one; empty: without an end.
type keyRange struct{ from, to string }

// clientWeights are what clients take. Their ranges cut the key space into pieces, and each entry counts for one piece,
// however many clients may write it. nil weighs nothing.
type clientWeights struct {
	roles  map[string][]keyRange
	bounds []string // a piece begins at each, and ends at the next
	pieces []Client // without names
}

// readClients reads which keys each client may write. Where the roles cannot be read or are too many it is nil: no
// backup is the worse for it.
func readClients(tx *bolt.Tx) *clientWeights {
	bucket := tx.Bucket(bucketRoles)
	if bucket == nil {
		return nil
	}
	w := &clientWeights{roles: map[string][]keyRange{}}
	room := mostOfBounds
	cursor := bucket.Cursor()
	for k, v := cursor.Seek([]byte(clientRoles)); strings.HasPrefix(string(k), clientRoles); k, v = cursor.Next() {
		name := string(k[len(clientRoles):])
		var role authpb.Role
		if !clientRole.MatchString(name) {
			continue
		}
		if proto.Unmarshal(v, &role) != nil {
			return nil
		}
		w.roles[name] = writable(role.GetKeyPermission())
		for _, one := range w.roles[name] {
			w.bounds = append(w.bounds, one.from, one.to)
			room -= len(one.from) + len(one.to)
		}
		if len(w.bounds) > mostBounds || room < 0 {
			return nil
		}
	}
	return w.cut()
}

func (w *clientWeights) cut() *clientWeights {
	if len(w.roles) == 0 {
		return nil
	}
	slices.Sort(w.bounds)
	w.bounds = slices.Compact(w.bounds)
	if len(w.bounds) > 0 && w.bounds[0] == "" {
		w.bounds = w.bounds[1:] // no key is empty: it is an end that is none
	}
	w.pieces = make([]Client, len(w.bounds))
	return w
}

// writable are the ranges of keys that may be written, apart from one another: several rights to one key count once.
func writable(rights []*authpb.Permission) []keyRange {
	var all []keyRange
	for _, right := range rights {
		one := keyRange{string(right.GetKey()), string(right.GetRangeEnd())}
		switch {
		case right.GetPermType() == authpb.READ:
			continue
		case one.to == "":
			one.to = one.from + "\x00"
		case one.to == "\x00":
			one.to = "" // as etcd has a range without an end
		}
		if one.from != "" && (one.to == "" || one.from < one.to) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b keyRange) int { return cmp.Compare(a.from, b.from) })
	var apart []keyRange
	for _, one := range all {
		last := len(apart) - 1
		switch {
		case last < 0 || apart[last].to != "" && apart[last].to < one.from:
			apart = append(apart, one)
		case one.to == "" || apart[last].to != "" && apart[last].to < one.to:
			apart[last].to = one.to
		}
	}
	return apart
}

// begin is called before the first entry, each time that all entries are visited anew.
func (w *clientWeights) begin() {
	if w != nil {
		clear(w.pieces)
	}
}

// add weighs an entry, which changes by so much how many keys there are.
func (w *clientWeights) add(e entry, keys int64) {
	if w == nil {
		return
	}
	at := sort.Search(len(w.bounds), func(i int) bool { return string(e.key) < w.bounds[i] }) - 1
	if at < 0 {
		return
	}
	piece := &w.pieces[at]
	piece.Keys += keys
	piece.Bytes += int64(e.size)
	piece.Revisions++
}

// largest are the clients that take most, as many as there is room for, and how many others there are.
func (w *clientWeights) largest() (all []Client, others int) {
	if w == nil {
		return nil, 0
	}
	before := make([]Client, len(w.pieces)+1)
	for i, piece := range w.pieces {
		before[i+1] = before[i].plus(piece, 1)
	}
	for name, ranges := range w.roles {
		sum := Client{}
		for _, one := range ranges {
			end := len(w.pieces)
			if one.to != "" {
				end, _ = slices.BinarySearch(w.bounds, one.to)
			}
			begin, _ := slices.BinarySearch(w.bounds, one.from)
			sum = sum.plus(before[end], 1).plus(before[begin], -1)
		}
		sum.Name = name
		all = append(all, sum)
	}
	slices.SortFunc(all, func(a, b Client) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	shown := all[:min(len(all), mostClients)]
	for len(shown) > 0 && sizeOf(shown) > roomForClients {
		shown = shown[:len(shown)-1]
	}
	return shown, len(all) - len(shown)
}

func (c Client) plus(other Client, times int64) Client {
	return Client{Keys: c.Keys + times*other.Keys, Bytes: c.Bytes + times*other.Bytes,
		Revisions: c.Revisions + times*other.Revisions}
}
