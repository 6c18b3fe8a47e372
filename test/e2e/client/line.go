package client

import (
	"context"
	"net"
	"sync"
)

// line is the one connection of a client that knows a single address.
type line struct {
	connect Connect
	mu      sync.Mutex
	open    net.Conn
}

func (l *line) dial(ctx context.Context, address string) (net.Conn, error) {
	connect := l.connect
	if connect == nil {
		connect = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	conn, err := connect(ctx, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = conn
	return conn, nil
}

// hangUp closes the connection, if there is one; gRPC sees it end and makes another.
func (l *line) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil {
		_ = l.open.Close()
		l.open = nil
	}
}
