package backup

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

// FuzzAManifestIsReadOnlyAsItWasWritten takes each text as it is, and once more as if its digest were its own: who may
// write to a store can make one.
func FuzzAManifestIsReadOnlyAsItWasWritten(f *testing.F) {
	at := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	whole := Manifest{
		FormatVersion: formatVersion, Key: "team/demo/uid/20260801T120000Z-00000007/" + snapshotObject, ClusterName: "demo",
		EtcdVersion: "3.6.16", Revision: 7, SizeBytes: sectorSize + trailerSize, KeysHash: KeysHash{Revision: 7},
		StartedAt: at, CompletedAt: at,
	}
	impossible := whole
	impossible.CompactRevision = 8
	for _, m := range []Manifest{whole, impossible, {}} {
		sealed := m.sealed()
		text := sealed.Encode()
		f.Add(string(text), m.Key)
		f.Add(string(text[:len(text)/2]), m.Key)
		f.Add(string(text)+"{}", m.Key)
		f.Add(string(bytes.Replace(text, []byte(`"revision"`), []byte(`"Revision"`), 1)), m.Key)
	}
	f.Add(`{"formatVersion":1,"key":"../other/snapshot.db"}`, "other/snapshot.db")
	f.Fuzz(func(t *testing.T, text, key string) {
		var forged Manifest
		if json.Unmarshal([]byte(text), &forged) == nil {
			sealed := forged.sealed()
			resealed := sealed.Encode()
			expectAsWritten(t, resealed, key)
		}
		expectAsWritten(t, []byte(text), key)
	})
}

// expectAsWritten fails where a manifest is taken that is not what its writer made, or not of this snapshot.
func expectAsWritten(t *testing.T, text []byte, key string) {
	t.Helper()
	m, err := ParseManifest(text, ManifestKey(key))
	if err != nil {
		return
	}
	encoded := m.Encode()
	if !bytes.Equal(encoded, text) {
		t.Errorf("%s is read as %s", text, encoded)
	}
	if ManifestKey(m.Key) != ManifestKey(key) || m.Revision < 1 || m.CompactRevision > m.Revision {
		t.Errorf("%s is taken for the manifest of %q", text, key)
	}
}
