/** Spellings of an address that must never be dialled. They are generated, so that no form is left out. */

const v4 = [
  '127.0.0.1', '127.1.2.3', '127.255.255.254', '0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255',
  '100.64.0.1', '100.127.255.254', '169.254.169.254', '169.254.170.2', '169.254.0.1', '172.16.0.1',
  '172.31.255.255', '192.168.0.1', '192.168.255.255', '192.0.0.1', '192.0.0.192', '192.0.2.1',
  '192.88.99.1', '198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.9', '224.0.0.1',
  '239.255.255.250', '240.0.0.1', '255.255.255.255', '168.63.129.16',
]; // prettier-ignore

const v6 = [
  '::', '::1', '0:0:0:0:0:0:0:1', '0000:0000:0000:0000:0000:0000:0000:0001', '::127.0.0.1', '::7f00:1',
  '::10.0.0.1', 'fc00::1', 'fd00::1', 'fd00:ec2::254', 'fdff:ffff::1', 'fe80::1', 'febf::1', 'fec0::1',
  'ff02::1', 'ff0e::1', '100::1', '2001::1', '2001:0:7f00:1::', '2001:db8::1', '2001:10::1', '2001:20::1',
  '3fff::1', '5f00::1', '64:ff9b:1::7f00:1', '64:ff9b:1::a9fe:a9fe', '2001:2::1', '4000::1', '8000::1',
  '2606:4700::5efe:7f00:1', '2606:4700::200:5efe:a00:1',
]; // prettier-ignore

function dotless(address: string): string[] {
  const parts = address.split('.').map(Number) as [number, number, number, number];
  const [a, b, c, d] = parts;
  const whole = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (value: number) => `0x${value.toString(16)}`;
  const octal = (value: number) => `0${value.toString(8)}`;
  return [
    String(whole),
    hex(whole),
    octal(whole),
    parts.map(hex).join('.'),
    parts.map(octal).join('.'),
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `${octal(a)}.${hex(b)}.${c}.${d}`,
    `${address}.`,
    parts
      .map((part) =>
        String(part).replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
      )
      .join('.'),
    address.replaceAll('.', '%2e'),
    address.replaceAll('.', '\u3002'),
  ];
}

function embedded(address: string): string[] {
  const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number];
  const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  return [
    `[::ffff:${address}]`,
    `[::ffff:${hex}]`,
    `[0:0:0:0:0:ffff:${hex}]`,
    `[::ffff:0:${hex}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b::${hex}]`,
    `[2002:${hex}::1]`,
    `[::${address}]`,
  ];
}

export const forbiddenHosts: string[] = [
  ...new Set([
    ...v4,
    ...v6.map((address) => `[${address}]`),
    ...v6.map((address) => `[${address.toUpperCase()}]`),
    ...['127.0.0.1', '169.254.169.254', '10.0.0.1', '192.168.0.1', '172.16.0.1', '100.64.0.1', '0.0.0.0', '192.168.255.255'].flatMap(dotless),
    ...['127.0.0.1', '169.254.169.254', '10.0.0.1', '192.168.0.1', '172.16.0.1', '100.64.0.1', '0.0.0.0', '168.63.129.16'].flatMap(embedded),
    '127.1', '127.0.1', '0', '0x0', '00', '0x7f.1', '017700000001', '0177.1', '①②⑦.⓪.⓪.①', 'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
    'localhost', 'LOCALHOST', 'localhost.', 'LocalHost', 'loc%61lhost',
  ]),
]; // prettier-ignore

/** Whole URLs that are refused whatever their address is. */
export const forbiddenUrls: string[] = [
  'ftp://example.com/', 'file:///etc/passwd', 'gopher://example.com/', 'data:text/plain,x', 'javascript:1',
  'ws://example.com/', 'http://user@example.com/', 'http://user:pass@example.com/', 'http://:pass@example.com/',
  'http://example.com@127.0.0.1/', 'http://127.0.0.1#@example.com/', 'http://127.0.0.1?@example.com/',
  'http://127.0.0.1\\@example.com/', 'http:\\\\127.0.0.1/', 'http:/\t/127.0.0.1/', 'http://127.0.0\n.1/',
  ' http://127.0.0.1/', 'http://127.0.0.1/ ', 'http://example.com:22/', 'http://example.com:25/',
  'http://example.com:6379@127.0.0.1/', 'http://[::1%25lo]/', 'http://[fe80::1%25eth0]/', '//127.0.0.1/',
  'http://', 'http:///', 'nonsense', '', 'http:127.0.0.1', 'http:/127.0.0.1', 'https:0x7f000001',
  'unix:/var/run/docker.sock', 'blob:http://127.0.0.1/x',
  'http://127.0.0.1:80:80/', 'http://[::ffff:127.0.0.1', 'http://example.com:443:22/', 'http://exa mple.com/',
]; // prettier-ignore
