package contract

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// allKeys is the range that EtcdClient grants for allKeys.
var allKeys = client.Permission{Key: "\x00", End: "\x00", Read: true, Write: true}

func TestAUserLogsInByThePasswordThatItHasNowAndOneWithoutNeverDoes(t *testing.T) {
	withAuthenticationOn(t, func(t *testing.T, p *play, w *realWorld) {
		ctx, c := t.Context(), w.operatorAs(client.RootUser, "a")
		must(t, c.AddRole(ctx, "app"))
		must(t, c.GrantPermission(ctx, "app", allKeys))
		must(t, c.NewUserWithPassword(ctx, "shop", "first"))
		p.refused(client.ErrUserExists, func() error { return c.NewUserWithPassword(ctx, "shop", "first") })
		must(t, c.GrantRole(ctx, "shop", "app"))
		must(t, c.NewUser(ctx, "certified"))

		shop, err := w.logIn(ctx, "shop", "first", "a")
		must(t, err)
		must(t, second(shop.Put(ctx, "any", "value")))
		must(t, second(w.clientOf("shop", "a").Get(ctx, "any"))) // its certificate goes on
		must(t, c.ChangePassword(ctx, "shop", "second"))
		must(t, second(w.clientOf("shop", "a").Get(ctx, "any")))
		if _, err := w.logIn(ctx, "shop", "first", "a"); !errors.Is(err, rpctypes.ErrAuthFailed) {
			t.Errorf("the former password: %v", err)
		}
		must(t, second(w.logIn(ctx, "shop", "second", "a")))

		must(t, c.ChangePassword(ctx, "certified", "any"))
		if _, err := w.logIn(ctx, "certified", "any", "a"); err == nil {
			t.Error("a user that was made without a password logs in")
		}
		p.refused(client.ErrUserNotFound, func() error { return c.ChangePassword(ctx, "nobody", "any") })
	})
}

// Programs that speak JSON with etcd's gateway, such as Patroni, take this way.
func TestTheGatewayServesACertificateWithoutANameBesideAPassword(t *testing.T) {
	withAuthenticationOn(t, func(t *testing.T, p *play, w *realWorld) {
		ctx, c := t.Context(), w.operatorAs(client.RootUser, "a")
		must(t, c.AddRole(ctx, "app"))
		must(t, c.GrantPermission(ctx, "app", client.Permission{Key: "shop/", End: "shop0", Read: true, Write: true}))
		must(t, c.NewUserWithPassword(ctx, "shop", "secret"))
		must(t, c.GrantRole(ctx, "shop", "app"))

		const shop1, other1 = "c2hvcC8x", "b3RoZXIvMQ==" // shop/1 and other/1
		g := gateway{t, w.users.unnamed(), w.address("a")}
		if code, text := g.post("", "kv/range", `{"key":"`+shop1+`"}`); code == http.StatusOK {
			t.Errorf("the certificate alone reads %s", text)
		}
		token := g.logIn("shop", "secret")
		if code, text := g.post(token, "kv/put", `{"key":"`+shop1+`","value":"`+shop1+`"}`); code != http.StatusOK {
			t.Errorf("it answers %d %s", code, text)
		}
		if code, text := g.post(token, "kv/range", `{"key":"`+other1+`"}`); !strings.Contains(text, "permission denied") {
			t.Errorf("outside of its right it answers %d %s", code, text)
		}
		g.config = w.users.as("shop")
		if code, text := g.post(token, "kv/range", `{"key":"`+shop1+`"}`); code != http.StatusBadRequest {
			t.Errorf("to a certificate with a name it answers %d %s", code, text)
		}
	})
}

// gateway is a program that speaks JSON with a member.
type gateway struct {
	*testing.T

	config  *tls.Config
	address string
}

func (g gateway) post(token, path, body string) (int, string) {
	g.Helper()
	program := http.Client{Transport: &http.Transport{TLSClientConfig: g.config.Clone()}}
	defer program.CloseIdleConnections()
	request, err := http.NewRequestWithContext(g.Context(), http.MethodPost, "https://"+g.address+"/v3/"+path, strings.NewReader(body))
	must(g, err)
	request.Header.Set("Authorization", token)
	said, err := program.Do(request)
	must(g, err)
	defer said.Body.Close()
	text, err := io.ReadAll(said.Body)
	must(g, err)
	return said.StatusCode, string(text)
}

func (g gateway) logIn(user, password string) string {
	g.Helper()
	var answer struct{ Token string }
	code, text := g.post("", "auth/authenticate", `{"name":"`+user+`","password":"`+password+`"}`)
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Token == "" {
		g.Fatalf("logging in: %d %s", code, text)
	}
	return answer.Token
}

func TestARightToAllKeysIsToEachOfThem(t *testing.T) {
	withAuthenticationOn(t, func(t *testing.T, p *play, w *realWorld) {
		ctx, c := t.Context(), w.operatorAs(client.RootUser, "a")
		must(t, c.AddRole(ctx, "app"))
		must(t, c.GrantPermission(ctx, "app", allKeys))
		p.has(c, "app", allKeys)
		must(t, c.NewUser(ctx, "shop"))
		must(t, c.GrantRole(ctx, "shop", "app"))
		shop := w.clientOf("shop", "a")
		for _, key := range []string{"\x00", "a", "\xff\xff"} {
			must(t, second(shop.Put(ctx, key, "value")))
		}
		answer, err := shop.Get(ctx, "", clientv3.WithPrefix())
		must(t, err)
		if len(answer.Kvs) != 3 {
			t.Errorf("it reads %v", answer.Kvs)
		}
		if err := second(shop.UserList(ctx)); !client.IsAuth(err) {
			t.Errorf("it reads users: %v", err)
		}
		must(t, c.RevokePermission(ctx, "app", allKeys))
		p.has(c, "app")
	})
}
