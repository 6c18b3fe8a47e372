// Package crd holds the custom resource definitions, for programs that check manifests without an API server.
package crd

import "embed"

// Files are the definitions, below bases.
//
//go:embed bases/*.yaml
var Files embed.FS
