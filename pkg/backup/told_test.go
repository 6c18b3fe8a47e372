package backup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What the agent says and what is read of it are two types, since neither may know the other. The tests of those who read it,
// controllers/backupplan and controllers/scheduleplan, read the same files: with the types they would link every cloud's SDK.
func TestWhatTheAgentSaysIsWhatItsReadersAreTriedWith(t *testing.T) {
	begun := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	kept := &Remaining{Key: "k", Revision: 7, StartedAt: begun, CompletedAt: begun.Add(time.Minute)}
	for name, said := range map[string]any{
		"pruned": Pruned{Kept: 3, Removed: 2, Newest: kept, Oldest: kept, Gone: []string{"d"}, Unchecked: 1,
			NotRead: []string{"m: it is damaged"}, NotReadMore: 2},
		"fetched": Fetched{Key: "k", Revision: 7, StartedAt: begun},
		"compared": Compared{Revision: 42, TotalKeys: 7, KeysHash: 1, Largest: []Prefix{
			{Prefix: "/registry/events/", Keys: 5, Bytes: 9000, Revisions: 20}, {Keys: 2, Bytes: 100, Revisions: 2},
		}, Clients: []Client{{Name: "shop/shop", Keys: 5, Bytes: 9000, Revisions: 20}, {Name: "team/cart/team.cart", Bytes: 100, Revisions: 2}},
			OtherClients: 3},
	} {
		text, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata", "told", name+".json"))
		if err != nil || strings.TrimSpace(string(want)) != string(text) {
			t.Errorf("%s: the agent says\n%s\nand its readers are tried with\n%s%v", name, text, want, err)
		}
	}
}
