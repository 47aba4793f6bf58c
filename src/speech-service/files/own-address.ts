import { isLoopback } from '../../port/addresses.ts';

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const wholeId = new RegExp(`^${uuid}$`, 'i');
const filePath = new RegExp(`/file/(${uuid})/?$`, 'i');

/** An id in the form in which it is kept; undefined for what is none. */
export function fileIdOf(text: unknown): string | undefined {
  return typeof text === 'string' && wholeId.test(text) ? text.toLowerCase() : undefined;
}

/**
 * The id when the address leads to a file that is held here: under one of our own addresses, or on this machine
 * itself. Such an address is read from the disk: the guarded client would refuse it, and it would need a key.
 */
export function ownFileId(url: string, ownUrls: readonly string[]): string | undefined {
  const asked = URL.parse(url);
  const id = filePath.exec(asked?.pathname ?? '')?.[1]?.toLowerCase();
  if (asked === null || id === undefined || !/^https?:$/.test(asked.protocol)) return undefined;
  const isWhole = asked.pathname.replace(/\/$/, '').length === `/file/${id}`.length;
  if (isWhole && isLoopback(asked.hostname)) return id;
  const isOurs = ownUrls.some((own) => {
    const ours = URL.parse(own);
    // Scheme and port differ behind a proxy that ends TLS; the host and the path before `/file/` do not.
    return (
      ours !== null &&
      ours.hostname === asked.hostname &&
      asked.pathname.replace(/\/$/, '').toLowerCase() ===
        `${ours.pathname.replace(/\/+$/, '')}/file/${id}`.toLowerCase()
    );
  });
  return isOurs ? id : undefined;
}
