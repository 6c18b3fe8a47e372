// Package policy holds the ValidatingAdmissionPolicies that limit what the operator may write, for tests to go by.
package policy

import "embed"

// Files are the policies and their bindings.
//
//go:embed *.yaml
var Files embed.FS
