package etcdutil

import "testing"

func TestAnImageWithoutEtcdutlIsKnownByTheWordsOfTheRuntimeAlone(t *testing.T) {
	for said, want := range map[string]bool{
		"failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start " +
			"container process: error during container init: exec: \"etcdutl\": executable file not found in $PATH: unknown": true,
		"container create failed: executable file `etcdutl` not found in $PATH: No such file or directory": true,

		"Error: open /scratch/fetched.db: no such file or directory":                                 false,
		`{"level":"fatal","caller":"etcdutl/main.go:39","msg":"executable file not found in $PATH"}`: false,
		"exec: \"istio-proxy\": executable file not found in $PATH: unknown":                         false,
		"": false,
	} {
		if got := LacksEtcdutl(said); got != want {
			t.Errorf("%v, not %v: %s", got, want, said)
		}
	}
}
