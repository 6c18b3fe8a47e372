package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

type lintOptions struct {
	server, strict bool
	files          []string
}

func (p program) lintCommand() *cobra.Command {
	var o lintOptions
	c := &cobra.Command{
		Use: "lint FILE...", Short: "Check manifests before they are applied", Args: cobra.ArbitraryArgs,
		Long: "Checks EtcdClusters, EtcdBackups, EtcdBackupSchedules, EtcdClients and EtcdRestores in files of YAML " +
			"or JSON, or in the standard input (-). It says what the API server and the operator of this " +
			"release would refuse, and what the operator would warn of, without either. With --server it asks " +
			"the API server, which stores nothing. Other kinds are skipped. The exit code is 1 if something " +
			"would be refused.",
		Example: "  kubectl etcd-steward lint etcd.yaml\n" +
			"  kustomize build . | kubectl etcd-steward lint -\n" +
			"  kubectl etcd-steward lint --server etcd.yaml",
	}
	p.printing(c, func(ctx context.Context, args []string, show show) error {
		files := slices.Concat(o.files, args)
		if len(files) == 0 {
			return errors.New("no file is named: lint FILE, or lint -f FILE, and - for the standard input")
		}
		check := offline
		if o.server {
			s, err := p.connect(p.flags)
			if err != nil {
				return err
			}
			check = s.ask
		}
		l := &linting{Findings: []finding{}, errOut: p.errOut, check: check}
		if err := l.files(ctx, files, c.InOrStdin()); err != nil {
			return err
		}
		return show(sight{text: l.print, data: l, ends: l.outcome(o.strict)})
	})
	flags := c.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil,
		"A file, as for kubectl, beside those that are named without it; - for the standard input.")
	flags.BoolVar(&o.server, "server", false, "Ask the API server, which applies the objects in a dry run.")
	flags.BoolVar(&o.strict, "strict", false, "Fail for warnings, too.")
	return c
}

// finding is one thing that is wrong with an object, or not wise.
type finding struct {
	File string `json:"file"`
	// Document counts from 1; that of an item of a List has its number behind a dot.
	Document string `json:"document"`
	Field    string `json:"field,omitempty"`
	Message  string `json:"message"`
	// Warning is true where the object is accepted all the same.
	Warning bool `json:"warning,omitempty"`
}

func (f finding) String() string {
	parts := []string{f.File + ":" + f.Document}
	if f.Warning {
		parts = append(parts, "warning")
	}
	if f.Field != "" {
		parts = append(parts, f.Field)
	}
	return strings.Join(append(parts, f.Message), ": ")
}

// checker says what is wrong with one object. An error means that it cannot say.
type checker func(context.Context, *unstructured.Unstructured) ([]finding, error)

// linting is what was found in all files.
type linting struct {
	Findings []finding `json:"findings"`
	Checked  int       `json:"checked"`
	Skipped  int       `json:"skipped"`

	errOut io.Writer
	check  checker
}

// files checks all files.
func (l *linting) files(ctx context.Context, files []string, in io.Reader) error {
	for _, file := range files {
		text, err := readManifest(file, in)
		if err != nil {
			return fmt.Errorf("reading manifests: %w", err)
		}
		if err := l.file(ctx, file, text); err != nil {
			return err
		}
	}
	return nil
}

// outcome is what the exit code says.
func (l *linting) outcome(isStrict bool) error {
	refused, warned := 0, 0
	for _, f := range l.Findings {
		if f.Warning {
			warned++
		} else {
			refused++
		}
	}
	switch {
	case refused > 0:
		return fmt.Errorf("objects would be refused: findings %d, warnings %d", refused, warned)
	case warned > 0 && isStrict:
		return fmt.Errorf("objects would be accepted with warnings: %d", warned)
	}
	return nil
}

func readManifest(file string, in io.Reader) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(file) //nolint:gosec // as its user asks
}

func (l *linting) print(out io.Writer) error {
	var text bytes.Buffer
	for _, f := range l.Findings {
		fmt.Fprintln(&text, f)
	}
	fmt.Fprintf(&text, "Objects checked: %d, skipped: %d. Findings: %d.\n", l.Checked, l.Skipped, len(l.Findings))
	_, err := out.Write(text.Bytes())
	return err
}

// file checks each document of a file.
func (l *linting) file(ctx context.Context, name string, text []byte) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for number := 1; ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		at := finding{File: name, Document: strconv.Itoa(number)}
		object, err := decode(document)
		switch {
		case err != nil:
			l.add(at, finding{Message: err.Error()})
		case object == nil: // nothing but comments
			continue
		default:
			if err := l.object(ctx, at, object); err != nil {
				return err
			}
		}
		number++
	}
}

// decode reads a document, and gives nil for an empty one. A key that is there twice is an error, as in kubectl.
func decode(document []byte) (*unstructured.Unstructured, error) {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if strings.TrimSpace(string(text)) == "null" {
		return nil, nil //nolint:nilnil // no object is no error
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		return nil, errors.New("it is no object of Kubernetes: it needs apiVersion and kind")
	}
	return object, nil
}

// object checks one object, or each item of a List.
func (l *linting) object(ctx context.Context, at finding, object *unstructured.Unstructured) error {
	if object.IsList() {
		number := 0
		return object.EachListItem(func(item runtime.Object) error {
			number++
			one, isObject := item.(*unstructured.Unstructured)
			if !isObject {
				return nil
			}
			return l.object(ctx, finding{File: at.File, Document: at.Document + "." + strconv.Itoa(number)}, one)
		})
	}
	kind := object.GroupVersionKind()
	if kind.Group != v1alpha1.Group {
		l.Skipped++
		_, err := fmt.Fprintf(l.errOut, "%s:%s: %s %s is skipped: it is of another project.\n", at.File, at.Document,
			kind.Kind, object.GetName())
		return err
	}
	l.Checked++
	found, err := l.check(ctx, object)
	for _, f := range found {
		l.add(at, f)
	}
	return err
}

// add notes a finding once: the schema and the operator may say the same.
func (l *linting) add(at, f finding) {
	f.File, f.Document = at.File, at.Document
	for _, known := range l.Findings {
		if known == f {
			return
		}
	}
	l.Findings = append(l.Findings, f)
}

// ask has the API server apply an object in a dry run. What it warns of is written as it answers.
func (s *session) ask(ctx context.Context, object *unstructured.Unstructured) ([]finding, error) {
	if object.GetNamespace() == "" {
		object.SetNamespace(s.namespace)
	}
	err := s.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.DryRunAll, client.ForceOwnership,
		fieldOwner)
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil, nil
	case meta.IsNoMatchError(err), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), !errors.As(err, &status):
		return nil, explain(err, object.GetNamespace())
	}
	details := status.Status().Details
	if details == nil || len(details.Causes) == 0 {
		return []finding{{Message: status.Status().Message}}, nil
	}
	found := make([]finding, len(details.Causes))
	for i, cause := range details.Causes {
		found[i] = finding{Field: cause.Field, Message: cause.Message}
	}
	return found, nil
}
