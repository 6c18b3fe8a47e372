package pki

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"text/template"
)

var kubeconfig = template.Must(template.New("kubeconfig").Parse(`apiVersion: v1
kind: Config
current-context: localkube
clusters:
- name: localkube
  cluster:
    server: {{ .Server }}
    certificate-authority-data: {{ .CA }}
users:
- name: {{ .Name }}
  user:
    client-certificate-data: {{ .Certificate }}
    client-key-data: {{ .Key }}
contexts:
- name: localkube
  context:
    cluster: localkube
    user: {{ .Name }}
`))

// Kubeconfig issues a client certificate and writes <name>.kubeconfig with it, complete in one file.
func (a *CA) Kubeconfig(name string, subject Subject, server string) error {
	if err := a.Issue(name, subject); err != nil {
		return err
	}
	values := map[string]string{"Server": server, "Name": name}
	for field, file := range map[string]string{
		"CA": a.File("ca", "crt"), "Certificate": a.File(name, "crt"), "Key": a.File(name, "key"),
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading for the kubeconfig of %s: %w", name, err)
		}
		values[field] = base64.StdEncoding.EncodeToString(data)
	}
	var out bytes.Buffer
	if err := kubeconfig.Execute(&out, values); err != nil {
		return fmt.Errorf("rendering the kubeconfig of %s: %w", name, err)
	}
	if err := os.WriteFile(a.File(name, "kubeconfig"), out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig of %s: %w", name, err)
	}
	return nil
}
