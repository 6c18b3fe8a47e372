package backup

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// signed is the manifest with its HMAC, where the store has a key, and with the digest that it has then.
func (m Manifest) signed(key []byte) (Manifest, error) {
	if key == nil {
		return m, nil
	}
	m.HMAC, m.Digest = "", ""
	text, err := json.Marshal(m)
	if err != nil {
		return Manifest{}, fmt.Errorf("sign the manifest: %w", err)
	}
	sum := hmac.New(sha256.New, key)
	_, _ = sum.Write(text)
	m.HMAC = hex.EncodeToString(sum.Sum(nil))
	return m.sealed()
}

// checkSignature refuses a manifest that was not signed with the store's key. Without a key nothing can be checked.
func (m Manifest) checkSignature(key []byte) error {
	want, err := m.signed(key)
	if err != nil || hmac.Equal([]byte(want.HMAC), []byte(m.HMAC)) {
		return err
	}
	if m.HMAC == "" {
		return fail(ReasonManifestUnsigned, "it has no HMAC, and the store's Secret has a manifest-key. Name another "+
			"backup. If you trust this one, name a Secret without manifest-key")
	}
	return fail(ReasonManifestUnsigned, "its HMAC is not of the manifest-key in the store's Secret. Name another "+
		"backup, or a Secret with the key that this one was signed with")
}

// isUnsigned tells what the store's key does not vouch for from what is damaged. Unlike a damaged manifest it is not
// that of the newest backup: with the key it is of none.
func (u unsound) isUnsigned() bool { return ReasonOf(u.why) == ReasonManifestUnsigned }
