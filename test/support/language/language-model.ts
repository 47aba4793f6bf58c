import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ModelRequest = {
  authorization: string | undefined;
  model: string;
  system: string;
  user: string;
};

/** A scripted OpenAI-compatible service: the script answers with the model's words, or takes over the response. */
export async function languageModel(
  script: (request: ModelRequest, response: ServerResponse) => string | undefined,
): Promise<AsyncDisposable & { url: string; requests: ModelRequest[] }> {
  const requests: ModelRequest[] = [];
  const server = createServer((request, response) => {
    void answer(request, response);
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { model, messages } = JSON.parse(body) as {
      model: string;
      messages: { content: string }[];
    };
    const asked = {
      authorization: request.headers.authorization,
      model,
      system: messages[0]?.content ?? '',
      user: messages[1]?.content ?? '',
    };
    requests.push(asked);
    const words = script(asked, response);
    if (words === undefined) return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: words } }] }));
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
