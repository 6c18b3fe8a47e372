package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/aws"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
)

func openAzure(ctx context.Context, c *Azure, o Options) (*blob.Bucket, error) {
	httpClient, err := newHTTPClient(o)
	if err != nil {
		return nil, err
	}
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: finally{httpClient},
		Retry:     policy.RetryOptions{MaxRetries: requestAttempts - 1},
	}}
	identityClient, err := newIdentityClient(o)
	if err != nil {
		return nil, err
	}
	client, err := azureClient(c, o.CredentialsDir, options, identityClient)
	if err != nil {
		return nil, err
	}
	return azureblob.OpenBucket(ctx, client, nil)
}

// finally sends a request, and has Azure's client end with what another attempt would meet as well.
type finally struct{ *http.Client }

func (c finally) Do(request *http.Request) (*http.Response, error) {
	response, err := c.Client.Do(request)
	if isFinal(err) == aws.FalseTernary {
		err = final{err}
	}
	return response, err
}

// final is not tried again (Azure/azure-sdk-for-go:sdk/internal/errorinfo/errorinfo.go).
type final struct{ error }

// NonRetriable says so.
func (final) NonRetriable() {}

// Unwrap gives the cause.
func (f final) Unwrap() error { return f.error }

func azureClient(c *Azure, dir string, options *container.ClientOptions,
	identityClient *http.Client) (*container.Client, error) {
	if dir == "" {
		if c.Endpoint == "" {
			return nil, errors.New("neither an endpoint nor a Secret says which account of Azure it is")
		}
		asking := options.ClientOptions
		asking.Transport = identityClient
		identity, err := azidentity.NewDefaultAzureCredential(
			&azidentity.DefaultAzureCredentialOptions{ClientOptions: asking})
		if err != nil {
			return nil, fmt.Errorf("find the credentials of the environment: %w", err)
		}
		return container.NewClient(azureURL(c, ""), identity, options)
	}
	account, err := readCredential(dir, fileAccountName)
	if err != nil {
		return nil, err
	}
	key, err := readCredential(dir, fileAccountKey)
	if err != nil {
		return nil, err
	}
	credential, err := container.NewSharedKeyCredential(account, key)
	if err != nil {
		return nil, fmt.Errorf("read the credentials: %s is not base64", fileAccountKey)
	}
	return container.NewClientWithSharedKeyCredential(azureURL(c, account), credential, options)
}

// azureURL is a container's address; an endpoint of the user's ends where the containers' names begin.
func azureURL(c *Azure, account string) string {
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = "https://" + account + ".blob.core.windows.net"
	}
	return strings.TrimSuffix(endpoint, "/") + "/" + c.Container
}
