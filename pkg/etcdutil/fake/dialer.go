package fake

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// Call is one call that reached the network, in order.
type Call struct {
	Method  string // as in client.Client
	Address string
}

// Fault makes one call fail.
type Fault struct {
	Method string // empty: any
	Nth    int    // the n-th call from now on that the method fits, counted from 1
	After  bool   // the call takes effect, and only its answer is lost
	Err    error  // nil: a deadline exceeded
}

// Inject adds a fault.
func (n *Network) Inject(f Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, &f)
}

// Calls returns what was called so far.
func (n *Network) Calls() []Call {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.calls)
}

// Dialer gives clients that reach the processes of this network by their addresses.
func (n *Network) Dialer() client.Dialer { return dialer{n} }

type dialer struct{ network *Network }

// Dial never fails: who listens shows at the first call.
func (d dialer) Dial(endpoint client.Endpoint) (client.Client, error) {
	return &conn{network: d.network, endpoint: endpoint}, nil
}

// conn is a client of one address.
type conn struct {
	network  *Network
	endpoint client.Endpoint
	closed   bool
}

func (c *conn) Close() error {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	c.closed = true
	return nil
}

// do is answer for calls that return nothing.
func do(ctx context.Context, c *conn, method string, f func(*Process) error) error {
	_, err := answer(ctx, c, method, func(p *Process) (struct{}, error) { return struct{}{}, f(p) })
	return err
}

// answer runs one call against the process at the address, with the faults that were asked for.
func answer[T any](ctx context.Context, c *conn, method string, f func(*Process) (T, error)) (T, error) {
	var none T
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("calling %s of etcd at %s: %w", method, c.endpoint.Address, err)
	}
	c.network.calls = append(c.network.calls, Call{method, c.endpoint.Address})
	fault := c.network.fault(method)
	if fault != nil && !fault.After {
		return none, fault.err()
	}
	p, err := c.process()
	if err == nil {
		err = c.network.reachable(p)
	}
	if err == nil {
		err = c.permits(p, method)
	}
	if err != nil {
		return none, fmt.Errorf("calling %s of etcd at %s: %w", method, c.endpoint.Address, err)
	}
	result, err := f(p)
	if fault != nil {
		return none, fault.err()
	}
	if err != nil {
		return none, fmt.Errorf("calling %s of etcd at %s: %w", method, c.endpoint.Address, err)
	}
	return result, nil
}

// process finds who listens at the address, and shakes hands.
func (c *conn) process() (*Process, error) {
	p := c.network.listening[c.endpoint.Address]
	switch {
	case c.closed:
		return nil, status.Error(codes.Canceled, "grpc: the client connection is closing")
	case p == nil:
		return nil, errRefused(c.endpoint.Address)
	case p.flags.TLS != (c.endpoint.TLS != nil) && !(p.flags.TLS && p.flags.Plain):
		return nil, errHandshake("tls: first record does not look like a TLS handshake")
	case c.endpoint.TLS != nil && p.flags.ServerName != "" && p.flags.ServerName != c.endpoint.ServerName:
		return nil,
			errHandshake(fmt.Sprintf("tls: failed to verify certificate: x509: certificate is valid for %s, not %s",
				p.flags.ServerName, c.endpoint.ServerName))
	}
	return p, nil
}

// reachable says whether the process serves clients now.
func (n *Network) reachable(p *Process) error {
	switch {
	case p.cut || p.hung:
		return status.Error(codes.DeadlineExceeded, "context deadline exceeded")
	case p.exit != nil || !p.serving:
		return errRefused(p.flags.Address)
	}
	return nil
}

func (n *Network) fault(method string) *Fault {
	var hit *Fault
	for _, f := range n.faults {
		if f.Method != "" && f.Method != method {
			continue
		}
		f.Nth--
		if f.Nth == 0 {
			hit = f
		}
	}
	return hit
}

func (f *Fault) err() error {
	if f.Err != nil {
		return f.Err
	}
	return status.Error(codes.DeadlineExceeded, "context deadline exceeded")
}

func errRefused(address string) error {
	return status.Errorf(codes.Unavailable,
		"connection error: desc = \"transport: Error while dialing: dial tcp %s: connect: connection refused\"",
		address)
}

func errHandshake(why string) error {
	return status.Errorf(codes.Unavailable,
		"connection error: desc = \"transport: authentication handshake failed: %s\"", why)
}
