// Package pki is the built-in certificate authority: functions on PEM bytes, with the clock passed in and no I/O but randomness.
//
// A cluster has two authorities: one for clients and one for peers. The one for peers signs members only, so no client's
// certificate ever opens a peer port, nor a member's peer certificate a client port. What they sign:
//
//   - each member, by peers: server and client use, since a member both accepts and dials (one certificate per member, with
//     its full name: etcd looks a name up but never a wildcard, etcd-io/etcd:client/pkg/transport/listener_tls.go);
//   - each member, by clients: server use, and client use for the gRPC gateway, which dials its own client port over
//     loopback with the server certificate; a certificate with addresses is checked against the caller's, so localhost is one;
//   - the operator, by clients: client use, common name root, no addresses (it calls from anywhere);
//   - the users' bundle, by clients: client use, common name <cluster>-client, no addresses.
//
// etcd reads a leaf and its key again at each handshake, so renewing one needs no restart (the Secret is mounted as a
// directory). It reads an authority's certificate once, at its start: replacing an authority needs rolls of all members.
package pki
