import { isLoopback } from '../../port/addresses.ts';

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const wholeId = new RegExp(`^${uuid}$`, 'i');
const filePath = new RegExp(`/file/(${uuid})/?$`, 'i');

/** The id in canonical form, or undefined if the text is no id. */
export function fileIdOf(text: unknown): string | undefined {
  return typeof text === 'string' && wholeId.test(text) ? text.toLowerCase() : undefined;
}

/**
 * The id of a file of ours if the address leads to this service. Such a file is read from the disk: our HTTP client
 * would refuse the address, and the address would need a key.
 */
export function ownFileId(url: string, ownUrls: readonly string[]): string | undefined {
  const asked = URL.parse(url);
  const id = filePath.exec(asked?.pathname ?? '')?.[1]?.toLowerCase();
  if (asked === null || id === undefined || !/^https?:$/.test(asked.protocol)) return undefined;
  const isWhole = asked.pathname.replace(/\/$/, '').length === `/file/${id}`.length;
  if (isWhole && isLoopback(asked.hostname)) return id;
  const isOurs = ownUrls.some((own) => {
    const ours = URL.parse(own);
    // Behind a proxy that ends TLS, scheme and port differ. The host and the path before `/file/` do not.
    return (
      ours !== null &&
      ours.hostname === asked.hostname &&
      asked.pathname.replace(/\/$/, '').toLowerCase() ===
        `${ours.pathname.replace(/\/+$/, '')}/file/${id}`.toLowerCase()
    );
  });
  return isOurs ? id : undefined;
}
