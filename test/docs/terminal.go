package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"sigs.k8s.io/yaml"
)

// terminal is where a reader of a page sits.
type terminal struct {
	options

	cluster   *cluster
	store     store
	dir       string // where it works
	namespace string

	shell *interp.Runner
	out   screen
}

// screen shows what the programs of a pipe print, which may be at the same time.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

// take gives what was printed since it was last taken.
func (s *screen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.text.Reset()
	return s.text.String()
}

// read does what a page says, and stops where something fails.
func (t *terminal) read(ctx context.Context, p page) (tally, error) {
	did := tally{pages: 1}
	fmt.Printf("\n== %s\n", p.name)
	if err := t.open(ctx); err != nil {
		return did, fmt.Errorf("%s: %w", p.name, errors.Join(err, t.close(ctx)))
	}
	for _, b := range p.blocks {
		if err := t.do(ctx, p.name, b, &did); err != nil {
			t.explain(ctx)
			return did, errors.Join(err, t.close(ctx))
		}
	}
	return did, t.close(ctx)
}

// open makes the namespace, the directory and the shell.
func (t *terminal) open(ctx context.Context) error {
	if err := t.layOut(); err != nil {
		return err
	}
	var err error
	if t.namespace, err = t.cluster.makeSpace(ctx, t.store.CA, t.kubeconfig()); err != nil {
		return err
	}
	return t.startShell()
}

// startShell starts one in which no part of a pipe fails unseen.
func (t *terminal) startShell() error {
	environment := append(os.Environ(), "KUBECONFIG="+t.kubeconfig(),
		envAccessKey+"="+t.store.AccessKeyID, envSecretKey+"="+t.store.SecretAccessKey)
	var err error
	t.shell, err = interp.New(
		interp.Dir(t.dir), interp.Env(expand.ListEnviron(environment...)), interp.Params("-o", "pipefail"),
		interp.StdIO(nil, &t.out, &t.out), interp.ExecHandlers(t.programs),
	)
	return err
}

func (t *terminal) kubeconfig() string { return filepath.Join(t.dir, ".kubeconfig") }

// plugin is the kubectl plugin that pages build.
const plugin = "etcd-steward"

// programs are those that a page calls by another name than this machine does.
func (t *terminal) programs(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		switch args[0] {
		case "kubectl":
			args = append(t.kubectl(), args[1:]...)
			if i := len(t.kubectl()); len(args) > i && args[i] == plugin {
				// kubectl takes no flag before the name of a plugin, which reads $KUBECONFIG.
				args = append([]string{filepath.Join(t.root, "bin", "kubectl-etcd_steward")}, args[i+1:]...)
			}
		case "go":
			args = append([]string{"go", args[1], "-C", t.root}, args[2:]...)
		case "localkube":
			args[0] = t.cluster.kubectl[0] // a page that needs it runs nowhere else
		case "helm":
			args[0] = filepath.Join(t.root, "bin", "helm")
		case "make":
			// Not as a part of the make that started the test.
			args = append([]string{"env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-C", t.root,
				"KUBECTL=" + strings.Join(t.cluster.kubectl, " ")}, args[1:]...)
		}
		return next(ctx, args)
	}
}

func (t *terminal) kubectl() []string {
	return append(append([]string(nil), t.cluster.kubectl...), "--kubeconfig="+t.kubeconfig())
}

// do does what one block says.
func (t *terminal) do(ctx context.Context, name string, b block, did *tally) error {
	switch {
	case b.skip != "":
		fmt.Printf("%s:%d: not run: %s\n", name, b.line, b.skip)
		did.skipped++
	case b.isRun():
		return t.runBlock(ctx, name, b, did)
	case b.lang == langYAML:
		return t.applyBlock(ctx, name, b, did)
	}
	return nil
}

func (t *terminal) runBlock(ctx context.Context, name string, b block, did *tally) error {
	commands, err := b.commands()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var printed strings.Builder
	for _, c := range commands {
		out, err := t.run(ctx, name, c)
		printed.WriteString(out)
		if err != nil {
			return fmt.Errorf("%s:%d: %s: %w\n%s", name, c.line, c.text, err, out)
		}
		did.commands++
	}
	if b.expects != nil && !b.expects.MatchString(printed.String()) {
		return fmt.Errorf("%s:%d: %s is expected, and this was printed:\n%s", name, b.line, b.expects, printed.String())
	}
	return nil
}

// run runs one command and returns what it printed.
func (t *terminal) run(ctx context.Context, name string, c command) (string, error) {
	fmt.Printf("%s:%d: $ %s\n", name, c.line, c.text)
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	began := time.Now()
	err := t.shell.Run(ctx, c.stmt)
	out := t.out.take()
	fmt.Printf("%s    (%.1f s)\n", indent(out), time.Since(began).Seconds())
	if ctx.Err() != nil {
		err = fmt.Errorf("it took longer than %s", t.patience)
	}
	if err == nil && t.shell.Exited() {
		err = errors.New("it closes the terminal")
	}
	if err == nil {
		err = c.differs(out)
	}
	return out, err
}

func indent(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		lines.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return lines.String()
}

// fileName is the first line of a manifest that a reader is to write to a file.
var fileName = regexp.MustCompile(`^# ([a-zA-Z0-9][a-zA-Z0-9._-]*\.yaml)\n`)

// applyBlock applies a manifest, or writes it to the file that it names. What has no kind is a fragment.
func (t *terminal) applyBlock(ctx context.Context, name string, b block, did *tally) error {
	isObject, err := b.isObject()
	if err != nil || !isObject {
		return err
	}
	text, err := t.store.stage([]byte(t.placed(b.text)))
	if err != nil {
		return fmt.Errorf("%s:%d: %w", name, b.line, err)
	}
	file, isFile := ".block.yaml", false
	if m := fileName.FindStringSubmatch(b.text); m != nil {
		file, isFile = m[1], true
	}
	if err := os.WriteFile(filepath.Join(t.dir, file), text, 0o600); err != nil || isFile {
		return err
	}
	commands, err := parseShell(b.line, "kubectl apply -f "+file)
	if err != nil {
		return err
	}
	did.applied++
	if out, err := t.run(ctx, name, commands[0]); err != nil {
		return fmt.Errorf("%s:%d: this manifest cannot be applied: %w\n%s", name, b.line, err, out)
	}
	return nil
}

// placed has a manifest name the namespace of the page where it names that of a reader's kubectl.
func (t *terminal) placed(manifest string) string {
	return readersNamespace.ReplaceAllString(manifest, "${1}"+t.namespace)
}

var readersNamespace = regexp.MustCompile(`(?m)^(\s*namespace: )default$`)

// isObject tells a manifest from a fragment, and both from what is not YAML.
func (b block) isObject() (bool, error) {
	var object any
	if err := yaml.Unmarshal([]byte(strings.SplitN(b.text, "\n---\n", 2)[0]), &object); err != nil {
		return false, fmt.Errorf("line %d: %w", b.line, err)
	}
	fields, _ := object.(map[string]any)
	return fields["apiVersion"] != nil && fields["kind"] != nil, nil
}

// close leaves nothing behind, unless somebody wants to look.
func (t *terminal) close(ctx context.Context) error {
	if t.namespace == "" || os.Getenv("E2E_KEEP") != "" {
		return nil
	}
	return t.cluster.clear(ctx, t.namespace)
}
