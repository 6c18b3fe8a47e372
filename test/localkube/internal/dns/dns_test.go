package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A name that no plugin knows is answered as the Corefile says, and the server ends with its context.
func TestQuestionsAreAnsweredUntilTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address, ended := freeAddress(t), make(chan error, 1)
	corefile := filepath.Join(t.TempDir(), "Corefile")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(".:%s {\nbind 127.0.0.1\nerrors\ntemplate ANY ANY {\nrcode NXDOMAIN\n}\n}\n", port)
	if err := os.WriteFile(corefile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- Run(ctx, corefile) }()
	for deadline := time.Now().Add(time.Minute); ; {
		err := ask(ctx, address)
		var answer *net.DNSError
		if errors.As(err, &answer) && answer.IsNotFound {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no answer: %v", err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestACorefileThatIsMissingOrNamesAnotherPluginIsRefused(t *testing.T) {
	corefile := filepath.Join(t.TempDir(), "Corefile")
	if err := Run(t.Context(), corefile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a Corefile: %v", err)
	}
	if err := os.WriteFile(corefile, []byte("127.0.0.1:0 {\nforward . 127.0.0.1\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), corefile); err == nil {
		t.Error("a plugin that is not linked is accepted")
	}
}

func ask(ctx context.Context, address string) error {
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", address)
	}}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := resolver.LookupHost(ctx, "a-name.of-nothing.")
	return err
}

// freeAddress is one that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.LocalAddr().String()
}
