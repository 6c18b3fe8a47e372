package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The kubectl plugin", Label("auth"), func() {
	ownNamespace()

	It("runs etcdctl from a person's machine, also once authentication is on, and shows all certificates", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "typed", 3)
		cluster.AwaitReady(ctx, 3)
		run := func(in io.Reader, args ...string) string {
			GinkgoHelper()
			out, said, err := story.Plugin(ctx, in, args...)
			Expect(err).NotTo(HaveOccurred(), "%v: %s%s", args, out, said)
			return out
		}
		for _, member := range []string{cluster.Member(0), cluster.Member(1), cluster.Member(2)} {
			Expect(run(nil, "ctl", "typed", "--", "endpoint", "health", "--cluster", "-w", "table")).To(ContainSubstring("/" + member))
			Expect(run(nil, "ctl", "typed", "--member", member, "--", "get", "a")).To(BeEmpty())
		}
		Expect(run(strings.NewReader("typed"), "ctl", "typed", "--", "put", "a")).To(Equal("OK\n"))
		saved := filepath.Join(GinkgoT().TempDir(), "typed.db")
		Expect(run(nil, "ctl", "typed", "--", "snapshot", "save", saved)).To(ContainSubstring("Snapshot saved"))
		Expect(os.Stat(saved)).To(HaveField("Size()", BeNumerically(">", 16<<10)))

		_, said, err := story.Plugin(ctx, nil, "ctl", "typed", "--", "member", "remove", cluster.Identities(ctx)[cluster.Member(2)].String())
		Expect(err).To(HaveOccurred())
		Expect(said).To(ContainSubstring("The operator removes members"))
		_, _, err = story.Plugin(ctx, nil, "ctl", "typed", "--", "put")
		var ended *exec.ExitError
		Expect(errors.As(err, &ended)).To(BeTrue(), "%v", err)
		Expect(ended.ExitCode()).To(Equal(128), "as etcdctl ends where arguments are missing")

		cluster.Change(ctx, withAuth(true))
		cluster.AwaitReady(ctx, 3)
		Expect(run(nil, "ctl", "typed", "--", "get", "a", "--print-value-only")).To(Equal("typed\n"), "as the user of the shared certificate")
		Expect(run(nil, "ctl", "typed", "--operator", "--", "user", "get", "typed-client")).To(ContainSubstring("User: typed-client"), "as root")
		Expect(run(nil, "ctl", "typed", "--operator", "--", "user", "add", "ann:secret")).To(ContainSubstring("User ann created"))
		_, said, err = story.Plugin(ctx, nil, "ctl", "typed", "--", "--user=ann:secret", "--command-timeout=1m", "get", "a")
		Expect(err).To(HaveOccurred())
		Expect(said).To(ContainSubstring("permission denied"), "a user who is named counts, and not the certificate")

		var shown struct {
			CAs          []struct{ Signs, HasKey bool }
			Certificates []struct {
				SignedBy        string
				TrustIsComplete bool
			}
		}
		Expect(json.Unmarshal([]byte(run(nil, "certificates", "typed", "-o", "json")), &shown)).To(Succeed())
		Expect(shown.CAs).To(HaveLen(2))
		Expect(shown.CAs).To(HaveEach(HaveField("HasKey", true)))
		Expect(shown.Certificates).To(HaveLen(8))
		Expect(shown.Certificates).To(HaveEach(And(HaveField("SignedBy", Not(BeEmpty())), HaveField("TrustIsComplete", true))))
		Expect(run(nil, "certificates", "typed")).NotTo(ContainSubstring("PRIVATE"))

		plain := story.Create(ctx, "plain", 1, withoutTLS)
		plain.AwaitReady(ctx, 1)
		Expect(run(nil, "ctl", "plain", "--", "endpoint", "health")).To(ContainSubstring("/" + plain.Member(0)))
		Expect(run(nil, "certificates", "plain")).To(ContainSubstring("There are no certificates"))
	})
})
