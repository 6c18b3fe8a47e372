// Package pki is the built-in certificate authority: functions on PEM bytes, with the clock passed in and no I/O but
// randomness.
//
// A cluster has two authorities: one for clients and one for peers. The one for peers signs members only, so no
// client's certificate ever opens a peer port, nor a member's peer certificate a client port. What they sign:
//
//   - each member, by peers: server and client use, since a member both accepts and dials. One certificate per member
//     with its full name: the peer port checks whence a caller dials by its addresses, then by reverse lookup, then by
//     looking up each name, but never a wildcard (etcd-io/etcd:client/pkg/transport/listener_tls.go);
//   - each member, by clients: server use, and client use for the gRPC gateway, which dials the member's own client
//     port with the server certificate (etcd-io/etcd:server/embed/serve.go);
//   - the operator, by clients: client use, common name root;
//   - the users' bundle, by clients: client use, common name <cluster>-client.
//
// etcd reads a leaf and its key again at each handshake, so renewing one needs no restart (the Secret is mounted as a
// directory). It reads an authority's certificate once, at its start: replacing an authority needs rolls of all
// members.
package pki
