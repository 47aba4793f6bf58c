// Preloaded into the program by a test: names of `.test` are asked of the test's own name server, with the errors of the system's resolver.
import dns from 'node:dns';

const { lookup } = dns;

dns.lookup = (hostname, options, answer) => {
  if (!hostname.endsWith('.test')) return lookup(hostname, options, answer);
  const [given, done] = typeof options === 'function' ? [{}, options] : [options ?? {}, answer];
  // A new one for each question: one that remembers quick answers gives a slow one up after 250 ms.
  const resolver = new dns.promises.Resolver({ timeout: 20_000, tries: 1 });
  resolver.setServers([process.env['TEST_NAME_SERVER'] ?? '']);
  resolver.resolve4(hostname).then(
    (found) => {
      const addresses = found.map((address) => ({ address, family: 4 }));
      if (given.all) done(null, addresses);
      else done(null, addresses[0].address, 4);
    },
    ({ code: why }) => {
      const code = why === 'ENOTFOUND' ? 'ENOTFOUND' : 'EAI_AGAIN';
      const error = new Error(`getaddrinfo ${code} ${hostname}`);
      done(Object.assign(error, { code, hostname, syscall: 'getaddrinfo' }));
    },
  );
};
