package client

import (
	"errors"
	"slices"
	"sync"
)

// Key says for whom a connection was made. A connection is used again only while all of it stays the same.
type Key struct {
	Cluster       string // namespace/name: the scope of Retain
	PodUID        string
	Address       string
	TLSGeneration string // changes whenever the certificates that were dialled with do; empty for plain
}

// Pool keeps one connection per key between passes, so that a pass pays no handshakes. It is safe for concurrent use;
// the clients that it gives out belong to it, and their Close does nothing.
type Pool struct {
	dialer  Dialer
	mu      sync.Mutex
	clients map[Key]Client
}

// NewPool makes an empty pool over a dialer.
func NewPool(dialer Dialer) *Pool { return &Pool{dialer: dialer, clients: map[Key]Client{}} }

// Get returns the client for a key, and dials when there is none yet.
func (p *Pool) Get(key Key, endpoint Endpoint) (Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.clients[key]; ok {
		return pooled{c}, nil
	}
	c, err := p.dialer.Dial(endpoint)
	if err != nil {
		return nil, err
	}
	p.clients[key] = c
	return pooled{c}, nil
}

// Retain closes the clients of a cluster that are not among the keys in use; with none in use, all of them.
func (p *Pool) Retain(cluster string, inUse ...Key) error {
	return p.closeWhere(func(k Key) bool { return k.Cluster == cluster && !slices.Contains(inUse, k) })
}

// Close closes every client. The pool can be used again.
func (p *Pool) Close() error { return p.closeWhere(func(Key) bool { return true }) }

func (p *Pool) closeWhere(unused func(Key) bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for key, c := range p.clients {
		if unused(key) {
			errs = append(errs, c.Close())
			delete(p.clients, key)
		}
	}
	return errors.Join(errs...)
}

// pooled is a client whose connection outlives the pass that uses it.
type pooled struct{ Client }

func (pooled) Close() error { return nil }
