// Package ext extends Traefik's configuration by nothing. Traefik asks for it by a path that no proxy serves.
package ext

// HTTP extends what is said of HTTP.
type HTTP struct{}

// Router extends a router.
type Router struct{}
