package client

import (
	"errors"
	"sync"
	"testing"
)

// counter counts what the pool dials and closes.
type counter struct {
	mu             sync.Mutex
	dialled, alive int
	err            error
}

type counted struct {
	Client
	counter *counter
}

func (c *counter) Dial(Endpoint) (Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	c.dialled++
	c.alive++
	return counted{counter: c}, nil
}

func (c counted) Close() error {
	c.counter.mu.Lock()
	defer c.counter.mu.Unlock()
	c.counter.alive--
	return nil
}

func get(t *testing.T, p *Pool, k Key) Client {
	t.Helper()
	c, err := p.Get(k, Endpoint{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestThePoolDialsOncePerKey(t *testing.T) {
	dialer := &counter{}
	p := NewPool(dialer)
	base := Key{"default/demo", "uid", "10.0.0.1:2379", "1"}
	for range 3 {
		_ = get(t, p, base).Close()
	}
	if dialer.dialled != 1 || dialer.alive != 1 {
		t.Errorf("dialled %d, alive %d; want 1 and 1", dialer.dialled, dialer.alive)
	}
	for _, other := range []Key{
		{"default/demo", "another", "10.0.0.1:2379", "1"},
		{"default/demo", "uid", "10.0.0.2:2379", "1"},
		{"default/demo", "uid", "10.0.0.1:2379", "2"},
	} {
		get(t, p, other)
	}
	if dialer.dialled != 4 {
		t.Errorf("dialled %d, want 4: a new Pod, address or certificate is a new connection", dialer.dialled)
	}
}

func TestThePoolClosesWhatAClusterNoLongerUses(t *testing.T) {
	dialer := &counter{}
	p := NewPool(dialer)
	a, b, other := Key{Cluster: "x/demo", PodUID: "a"}, Key{Cluster: "x/demo", PodUID: "b"}, Key{Cluster: "y/demo", PodUID: "a"}
	for _, k := range []Key{a, b, other} {
		get(t, p, k)
	}
	if err := p.Retain("x/demo", a); err != nil || dialer.alive != 2 {
		t.Errorf("%d alive after retaining one of two, err %v; want 2 with the other cluster's", dialer.alive, err)
	}
	if err := p.Retain("x/demo"); err != nil || dialer.alive != 1 {
		t.Errorf("%d alive after the cluster is gone, err %v", dialer.alive, err)
	}
	if err := p.Close(); err != nil || dialer.alive != 0 {
		t.Errorf("%d alive after Close, err %v", dialer.alive, err)
	}
	get(t, p, a)
	if dialer.alive != 1 {
		t.Error("a closed pool does not dial again")
	}
}

func TestThePoolKeepsNothingOfAFailedDial(t *testing.T) {
	dialer := &counter{err: errors.New("no")}
	p := NewPool(dialer)
	if _, err := p.Get(Key{}, Endpoint{}); err == nil {
		t.Fatal("no error")
	}
	dialer.err = nil
	get(t, p, Key{})
}

func TestThePoolIsSafeForManyPassesAtOnce(t *testing.T) {
	p := NewPool(&counter{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if _, err := p.Get(Key{Cluster: "a"}, Endpoint{}); err != nil {
					t.Error(err)
				}
				_ = p.Retain("a")
			}
		})
	}
	wg.Wait()
}
