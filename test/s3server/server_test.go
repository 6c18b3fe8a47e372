package s3server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

func TestEveryServerKeepsObjectsWithAndWithoutTLS(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "TLS": {TLS: true}} {
		t.Run(name, func(t *testing.T) {
			Each(t, o, func(t *testing.T, s *Server) {
				if o.TLS != strings.HasPrefix(s.Endpoint, "https://") || o.TLS != (s.CA != nil) {
					t.Errorf("TLS %v, and the endpoint is %s", o.TLS, s.Endpoint)
				}
				put(t, s.Access, "a/b/c", "hello")
				if got := mustGet(t, s.Access, "a/b/c"); got != "hello" {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

func TestAClientThatDoesNotTrustTheCAIsNotServed(t *testing.T) {
	Each(t, Options{TLS: true}, func(t *testing.T, s *Server) {
		a := s.Access
		a.CA = []byte{}
		if _, err := get(t, a, "a"); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("err %v", err)
		}
	})
}

func TestAnObjectIsAPlainFileThatATestMaySpoil(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		put(t, s.Access, "a/b", "hello")
		data, err := os.ReadFile(s.File("a/b"))
		if err != nil || string(data) != "hello" {
			t.Fatalf("%q, %v", data, err)
		}
		if err := os.WriteFile(s.File("a/b"), []byte("jello"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := mustGet(t, s.Access, "a/b"); got != "jello" {
			t.Errorf("got %q", got)
		}
	})
}

func TestAnObjectOfSeveralPartsIsWholeOnlyOnceCompleted(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		parts := []string{strings.Repeat("a", 5<<20), "b"}
		upload := begin(t, s.Access, "a/b/c/parts", parts)
		if _, err := get(t, s.Access, "a/b/c/parts"); codeOf(err) != "NoSuchKey" {
			t.Errorf("before it is complete: %v", err)
		}
		if _, err := s.Client().CompleteMultipartUpload(t.Context(), upload); err != nil {
			t.Fatal(err)
		}
		if got := mustGet(t, s.Access, "a/b/c/parts"); got != strings.Join(parts, "") {
			t.Errorf("got %d bytes", len(got))
		}
	})
}

func TestNoObjectIsOverwrittenWhereThatIsAsked(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		put(t, s.Access, "a", "first")
		anything := "*"
		_, err := s.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &s.Bucket, Key: new("a"), Body: strings.NewReader("second"), IfNoneMatch: &anything})
		if statusOf(err) != http.StatusPreconditionFailed {
			t.Errorf("one put: %v", err)
		}
		upload := begin(t, s.Access, "a", []string{strings.Repeat("a", 5<<20), "b"})
		upload.IfNoneMatch = &anything
		if _, err = s.Client().CompleteMultipartUpload(t.Context(), upload); statusOf(err) != http.StatusPreconditionFailed {
			t.Errorf("in parts: %v", err)
		}
		if got := mustGet(t, s.Access, "a"); got != "first" {
			t.Errorf("got %d bytes", len(got))
		}
	})
}

var refusals = []string{"InvalidAccessKeyId", "SignatureDoesNotMatch", "XAdminUserNotFound"}

func TestCredentialsOfAnotherServerAreRefused(t *testing.T) {
	Each(t, Options{}, func(t *testing.T, s *Server) {
		for name, spoil := range map[string]func(*Access){
			"key ID": func(a *Access) { a.AccessKeyID = "TESTOFSOMEBODYELSE00" },
			"secret": func(a *Access) { a.SecretAccessKey = strings.ToLower(a.SecretAccessKey) },
		} {
			a := s.Access
			spoil(&a)
			// versitygw calls an unknown key ID 404, which must not be taken for a missing object.
			if _, err := get(t, a, "a"); !slices.Contains(refusals, codeOf(err)) {
				t.Errorf("%s: %s: %v", name, codeOf(err), err)
			}
		}
		a := s.Access
		a.Bucket = "missing"
		if _, err := get(t, a, "a"); codeOf(err) != "NoSuchBucket" {
			t.Errorf("bucket: %v", err)
		}
	})
}

func TestAServerEndsWithItsTest(t *testing.T) {
	for _, kind := range Kinds {
		var s *Server
		t.Run(string(kind), func(t *testing.T) { s = Start(t, kind, Options{}) })
		if s == nil {
			continue // it says itself why it did not start
		}
		if s.process.cmd.ProcessState == nil || s.process.cmd.ProcessState.Exited() {
			t.Errorf("%s was not killed: %v", kind, s.process.cmd.ProcessState)
		}
		if _, err := get(t, s.Access, "a"); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%s still answers: %v", kind, err)
		}
	}
}

func TestAServerThatCannotServeSaysWhatItSaid(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho out of paper\nexit 3\n"
	if err := os.WriteFile(filepath.Join(dir, string(Rclone)), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Run(t.Context(), Rclone, Options{Dir: t.TempDir(), Binaries: dir})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "out of paper") {
		t.Errorf("err %v", err)
	}
	_, err = Run(t.Context(), Versitygw, Options{Dir: t.TempDir(), Binaries: dir})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing program: %v", err)
	}
}

func put(t *testing.T, a Access, key, data string) {
	t.Helper()
	if _, err := tryPut(t, a, key, data); err != nil {
		t.Fatal(err)
	}
}

func tryPut(t *testing.T, a Access, key, data string) (*s3.PutObjectOutput, error) {
	return a.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &a.Bucket, Key: &key, Body: strings.NewReader(data)})
}

func get(t *testing.T, a Access, key string) (string, error) {
	out, err := a.Client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: &a.Bucket, Key: &key})
	if err != nil {
		return "", err
	}
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	return string(data), err
}

func mustGet(t *testing.T, a Access, key string) string {
	t.Helper()
	data, err := get(t, a, key)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// begin uploads parts and leaves the upload to be completed.
func begin(t *testing.T, a Access, key string, parts []string) *s3.CompleteMultipartUploadInput {
	t.Helper()
	client := a.Client()
	created, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &a.Bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	done := &types.CompletedMultipartUpload{}
	for i, part := range parts {
		number := int32(i + 1)
		up, err := client.UploadPart(t.Context(), &s3.UploadPartInput{
			Bucket: &a.Bucket, Key: &key, UploadId: created.UploadId, PartNumber: &number, Body: bytes.NewReader([]byte(part)),
		})
		if err != nil {
			t.Fatal(err)
		}
		done.Parts = append(done.Parts, types.CompletedPart{ETag: up.ETag, PartNumber: &number})
	}
	return &s3.CompleteMultipartUploadInput{Bucket: &a.Bucket, Key: &key, UploadId: created.UploadId, MultipartUpload: done}
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func statusOf(err error) int {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}
