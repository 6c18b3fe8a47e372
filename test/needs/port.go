package needs

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Port is a port of TCP on which nothing of this host listened a moment ago, for a program that listens there itself. It
// is below the ports that the kernel gives to connections (ip_local_port_range): one of those may be taken meanwhile.
func Port(host string) (string, error) {
	var err error
	for range 1000 {
		port := strconv.Itoa(10000 + rand.IntN(20000))
		var listener net.Listener
		if listener, err = net.Listen("tcp", net.JoinHostPort(host, port)); err == nil {
			return port, listener.Close()
		}
	}
	return "", fmt.Errorf("finding a free port: %w", err)
}

// FreePort is such a port of every address of this machine.
func FreePort(t T) string {
	t.Helper()
	port, err := Port("")
	if err != nil {
		t.Fatal(err)
	}
	return port
}
