import type { LanguageAbroad } from '../abroad/number-words.ts';

/** Words by which a sentence of a call is a request, a promise, an action, or the end of a matter. */
export type CuesAbroad = {
  /** The customer says why they call. */
  wants: RegExp;
  /** Somebody says who they are. */
  introduces: RegExp;
  /** The agent has done something: forms of verbs, but for what only was seen, heard or understood. */
  did: RegExp;
  /** The agent, or somebody of the company, will do something. */
  agentWill: RegExp;
  /** The agent says what the customer has to do. */
  needs: RegExp;
  /** The customer will do something. */
  customerWill: RegExp;
  /** The customer does something; it is a promise beside a day or a word of `then`. */
  customerDoes: RegExp;
  then: RegExp;
  /** The customer says that the matter is settled. */
  settled: RegExp;
  /** The customer is content with what was done. */
  content: RegExp;
  /** A promise of this kind leaves the matter open. */
  pending: RegExp;
  /** The agent asks for a name. */
  asksName: RegExp;
};

/**
 * Texts are compared in small letters. `did` and `customerWill` need the accents, which tell "annulé" from "annule"; the
 * others are compared without.
 */
export const cuesAbroad: Record<LanguageAbroad, CuesAbroad> = {
  es: {
    wants: /(?<!\p{L})(?:queria|quiero|quisiera|necesito|necesitaba|necesitaria|me gustaria|llamo (?:por|para|porque|sobre)|llamaba (?:por|para|porque)|tengo un problema|no me funciona|no funciona|no he recibido|no me ha llegado|me han cobrado|he perdido|se me ha)(?!\p{L})/u,
    introduces: /(?<!\p{L})(?:me llamo|mi nombre es|soy|le habla|habla con)(?!\p{L})/u,
    did: /(?<!\p{L})(?:he|hemos|ha quedado|han quedado|queda|ya está|ya están) (?:\p{L}+ )?(?!(?:visto|entendido|comprendido|hablado|dicho|tenido|podido|sido|estado|oído|encontrado|mirado|comprobado|recibido|intentado|llegado|perdido|pedido un)(?!\p{L}))\p{L}{2,}(?:ad|id|íd|uest|uelt|iert|rit|ech)[oa]s?(?!\p{L})|(?<!\p{L})acab(?:o|amos) de (?!ver|mirar|hablar|llegar|entrar|leer|comprobar|recibir)\p{L}+r(?:l[eoa]s?|sel[oa]s?|te)?(?!\p{L})/u,
    agentWill: /(?<!\p{L})(?:voy a|vamos a|va a|van a) (?!ver|mirar|comprobar|revisar|consultar|hacer una pregunta)\p{L}+r|(?<!\p{L})\p{L}{3,}remos(?!\p{L})|(?<!\p{L})(?:le|les|te|se lo|se la|se los|se las) (?!hablo|entiendo|escucho|digo|comento|atiendo|pido|pregunto|deseo|agradezco|puedo|informo|confirmamos que)(?:\p{L}{2,}(?:amos|emos|imos)|llamo|mando|envio|escribo|aviso|devuelvo|paso|llamare|enviare|mandare|escribire|avisare|llamaran|enviaran|llamara)(?!\p{L})|(?<!\p{L})(?:recibira|llegara|pasara|ira|vendra|llamaran|recibe en)(?!\p{L})/u,
    needs: /(?<!\p{L})(?:tiene que|tienes que|hay que|debe|necesit\w+|nos hace falta)(?!\p{L})/u,
    customerWill: /(?<!\p{L})(?:l[eao]s? |os |se l[oa] )?(?:\p{L}{3,}(?<!mi)ré(?!\p{L})|iré|daré|haré|vuelvo a \p{L}+r|voy a (?!ver si)\p{L}+r)/u,
    customerDoes: /(?<!\p{L})(?:dejo|llevo|traigo|recojo|preparo|paso|mando|envio|escribo|llamo|hago|pago|espero|vengo|voy)(?!\p{L})/u,
    then: /(?<!\p{L})(?:entonces|pues|luego|ahora mismo|esta (?:tarde|noche)|en cuanto)(?!\p{L})/u,
    settled: /(?<!\p{L})(?:ya funciona|eso es todo|era todo|nada mas|solucionado|ya esta arreglado|ya me va|ya lo tengo)(?!\p{L})/u,
    content: /(?<!\p{L})(?:gracias|perfecto|estupendo|genial|que alivio|muy amable)(?!\p{L})/u,
    pending: /llam|tecnico|avis|escrib|averia/,
    asksName: /(?<!\p{L})nombre(?!\p{L})|como se llama|quien es usted/u,
  },
  fr: {
    wants: /(?<!\p{L})(?:je voudrais|j'aimerais|je souhaite|je souhaiterais|j'ai besoin|je veux|j'appelle (?:pour|parce|au sujet|concernant)|je vous appelle (?:pour|parce|au sujet|car)|c'est pour|ce serait pour|j'ai un probleme|je n'ai pas recu|je n'arrive (?:pas|plus)|ca ne marche pas|ne fonctionne (?:pas|plus)|j'ai ete (?:debite|preleve)e?|j'ai perdu|il faudrait)(?!\p{L})/u,
    introduces: /(?<!\p{L})(?:je m'appelle|mon nom est|je me nomme|je suis (?:monsieur|madame)|a l'appareil)(?!\p{L})/u,
    did: /(?<!\p{L})(?:j'ai|nous avons|on a|je vous ai|je l'ai|je les ai|je vous l'ai) (?:(?:bien|déjà|donc|aussi|tout de suite|fait|bien) )*(?!(?:vu|lu|eu|compris|entendu|dit|pu|été|reçu|regardé|vérifié|trouvé|oublié|essayé|parlé|perdu|mis du|noté que)(?!\p{L}))\p{L}{2,}(?:é|ée|és|ées|is|it|ait|u|ue|us|ert)(?!\p{L})|(?<!\p{L})je viens (?:d'|de )(?:vous |le |la |l'|les )?(?!voir|regarder|vérifier|lire|recevoir)\p{L}+(?:er|ir|re)(?!\p{L})|(?<!\p{L})c'est (?:fait|noté|annulé|réglé|enregistré|modifié|confirmé|réservé|changé)(?!\p{L})/u,
    agentWill: /(?<!\p{L})(?:je|nous|on) (?:vous |le |la |l'|les |vous le |vous la )?(?!pourr|saur|devr|aur|voudr|souhaiter|aimer)\p{L}{3,}(?:rai|rons)(?!\p{L})|(?<!\p{L})(?:ils|elles|il|elle|quelqu'un|technicien|collegue|livreur|depot) (?:vous |le |la )?\p{L}+(?:ra|ront)(?!\p{L})|(?<!\p{L})vous (?:aurez|recevrez|serez (?:rembourse|livre|rappele)|allez recevoir)|(?<!\p{L})(?:je|nous|on) (?:vais|allons|va) (?:vous |le |la |les )?(?!voir|regarder|verifier|consulter)\p{L}+(?:er|ir|re)(?!\p{L})|(?<!\p{L})(?:je|nous|on) vous (?:envoie|envoyons|rappelle|rappelons|tiens au courant|tient au courant|fais parvenir|adresse|renvoie|rembourse|rappelle)/u,
    needs: /(?<!\p{L})(?:il nous faut|il me faut|il faut|vous devez|vous devrez|nous avons besoin)(?!\p{L})/u,
    customerWill: /(?<!\p{L})(?:je|j'|on|nous) ?(?:vous |le |la |l'|les |y |vous l'|vous le )?(?!pourr|saur|devr|aur|voudr)\p{L}{2,}rai(?!\p{L})|(?<!\p{L})je vais (?:vous |le |la |les )?(?!voir|avoir|bien)\p{L}+(?:er|ir|re)(?!\p{L})/u,
    customerDoes: /(?<!\p{L})je (?:vous |le |la |l'|les |vous l'|vous le )?(?:rappelle|envoie|reste|passe|depose|apporte|paie|prepare|renvoie|releve|fais|attends|viens|vais)(?!\p{L})/u,
    then: /(?<!\p{L})(?:alors|donc|ce soir|tout a l'heure|par mail|a cote)(?!\p{L})/u,
    settled: /(?<!\p{L})(?:ca (?:re)?marche|c'est tout|c'etait tout|c'est regle|ce sera tout|c'est bon maintenant)(?!\p{L})/u,
    content: /(?<!\p{L})(?:merci|parfait|super|genial|impeccable)(?!\p{L})/u,
    pending: /rappel|technicien|courant|ecri|appeller/,
    asksName: /(?<!\p{L})(?:votre nom|quel nom|vous appelez comment|qui etes)/u,
  },
  de: {
    wants: /(?<!\p{L})(?:ich (?:mochte|wollte|will|brauche|brauchte|hatte gern|wurde gern)|mochte ich|wurde gern|ich rufe (?:an|wegen|\p{L}+ an)|ich melde mich wegen|es geht um|ich habe ein problem|funktioniert (?:nicht|nicht mehr)|geht nicht|ich habe (?:\p{L}+ ){0,4}(?:nicht bekommen|nicht erhalten|verloren)|mir wurde|wurde (?:\p{L}+ ){0,4}abgebucht)(?!\p{L})/u,
    introduces: /(?<!\p{L})(?:ich heisse|mein name ist|hier ist|hier spricht|sie sprechen mit|am apparat)(?!\p{L})/u,
    did: /(?<!\p{L})(?:(?:ich|wir) haben?|haben? (?:ich|wir))(?!\p{L}).{0,90}?(?<!\p{L})(?!(?:gesehen|gehört|gefunden|verstanden|gesagt|gesprochen|geschaut|gehabt|geprüft|bekommen|erhalten|gelesen|versucht|erreicht|gewartet|vergessen|gemerkt|gegeben|beiden|gerne|benötigen|bitten|besten)(?!\p{L}))(?:\p{L}{0,8}ge\p{L}{2,}(?:t|en)|\p{L}{2,}iert|(?:ver|be|ent|über|er)\p{L}{3,}(?:t|en)|aufgenommen)(?=[.,;!]|$| und )|(?<!\p{L})(?:ist|sind) (?:\p{L}+ ){0,4}(?:geändert|storniert|gesperrt|erledigt|gebucht|verschoben|korrigiert|eingetragen|gelöscht|gekündigt|aktiviert|freigeschaltet|behoben)(?!\p{L})/u,
    agentWill: /(?<!\p{L})(?:ich|wir) (?:schicken?|rufen?|melden?|senden?|erstatten?|uberweisen?|schreiben?|bestatigen?|ziehen?|kummern?|mailen?|buchen?|tragen?|geben? ihnen (?:bescheid|noch)) (?:ihnen|sie|uns|mich|es|das|den|die|dann|bis|morgen|am)(?!\p{L})|(?<!\p{L})(?:schicken?|rufen?|melden?|senden?|erstatten?|uberweisen?|schreiben?|ziehen?|buchen?) (?:ich|wir)(?!\p{L})|(?<!\p{L})(?:ich|wir) werden? |(?<!\p{L})werden? (?:ich|wir) |(?<!\p{L})sie (?:bekommen|erhalten) |(?<!\p{L})bekommen sie |(?<!\p{L})(?:techniker|fahrer|kollegin|kollege|monteur|handwerker)n? (?:kommt|kommen|meldet|melden|ruft|rufen|wird|werden)|(?<!\p{L})(?:geht|kommt) .{0,40}(?:an sie|mit der post|per post|per e-?mail|per mail|zu ihnen|raus)(?!\p{L})/u,
    needs: /(?<!\p{L})(?:mussen sie|sie mussen|brauchen wir|wir brauchen|benotigen wir|wir benotigen|sie sollten|sie konnen)(?!\p{L})/u,
    customerWill: /(?<!\p{L})(?:ich werde|werde ich)(?!\p{L}) /u,
    customerDoes: /(?<!\p{L})(?:ich (?:rufe|melde mich|schicke|sende|uberweise|bringe|komme|gehe|hole|bin|warte|zahle|schreibe|mache|bleibe)|(?:rufe|melde|schicke|sende|uberweise|bringe|komme|gehe|hole|bin|warte|zahle|schreibe|mache|bleibe) ich)(?!\p{L})/u,
    then: /(?<!\p{L})(?:dann|heute (?:noch|abend)|gleich|spater|sofort|nachher)(?!\p{L})/u,
    settled: /(?<!\p{L})(?:jetzt (?:geht|funktioniert|lauft)|das (?:war|ware) (?:'s|es|alles)|das war's|geht wieder|funktioniert wieder)(?!\p{L})/u,
    content: /(?<!\p{L})(?:danke|vielen dank|perfekt|wunderbar|alles klar|gott sei dank|super|prima)(?!\p{L})/u,
    pending: /(?<!\p{L})ruf|meld|techniker|schreib|jemand|monteur/u,
    asksName: /(?<!\p{L})namen?(?!\p{L})|wie heissen sie|mit wem/u,
  },
  it: {
    wants: /(?<!\p{L})(?:vorrei|volevo|voglio|ho bisogno|avrei bisogno|mi servirebbe|mi serve|chiamo (?:per|perche)|la chiamo (?:per|perche)|ho un problema|non funziona|non ho ricevuto|non mi e arrivat[oa]|mi hanno addebitato|ho perso|devo disdire)(?!\p{L})/u,
    introduces: /(?<!\p{L})(?:mi chiamo|il mio nome e|sono (?=\p{L}+ \p{L}+[.,]?$)|parla con)/u,
    did: /(?<!\p{L})(?:ho|l'ho|le ho|li ho|gliel'ho|abbiamo|l'abbiamo) (?:(?:già|appena|ora|subito|anche|poi) )*(?!(?:capito|visto|vista|sentito|detto|avuto|potuto|ricevuto|trovato|controllato|guardato|verificato|letto|stato|parlato|perso|dovuto|provato)(?!\p{L}))\p{L}{2,}(?:at|ut|it|att|ess|est|ert|ett|itt|int|ott|olt|ort|ors)[oaie](?!\p{L})|(?<!\p{L})(?:è|sono|risulta) (?:(?:già|ora|adesso|stat[oaie]) )*(?:annullat|bloccat|modificat|spostat|prenotat|confermat|attivat|disdett|registrat|cancellat|rimborsat|corrett|sistemat|risolt|disattivat|aggiornat|cambiat|inviat)[oaie](?!\p{L})/u,
    agentWill: /(?<!\p{L})(?:la|le|ti|vi|glielo|gliela|ve lo) (?:richiam|chiam|invi|mand|spedi|rimbors|scriv|contatt|avvis|manderemo|facci|ricontatt)(?:o|amo|iamo|eremo|ero|iremo|eranno)(?!\p{L})|(?<!\p{L})glie(?:lo|la|li|le) (?:\p{L}+iamo|\p{L}+remo)(?!\p{L})|(?<!\p{L})\p{L}{3,}(?:eremo|iremo|eranno|iranno)(?!\p{L})|(?<!\p{L})(?:faremo|daremo|ricevera|arrivera|passera|verra|chiamera|contattera|richiamera)(?!\p{L})|(?<!\p{L})la (?:richiamo|chiamo) io(?!\p{L})|(?<!\p{L})(?:tecnico|corriere|collega) (?:\p{L}+ )?(?:passa|viene|chiama|porta|ritira)(?!\p{L})|(?<!\p{L})passa (?:il|un) (?:nostro )?tecnico/u,
    needs: /(?<!\p{L})(?:deve|bisogna|ci serve|mi serve|abbiamo bisogno|dovrebbe)(?!\p{L})/u,
    customerWill: /(?<!\p{L})\p{L}{2,}(?:erò|irò|arò)(?!\p{L})/u,
    customerDoes: /(?<!\p{L})(?:preparo|mando|porto|passo|chiamo|richiamo|scrivo|invio|pago|faccio|vado|aspetto|ritiro|lascio|spedisco|resto)(?!\p{L})/u,
    then: /(?<!\p{L})(?:allora|quindi|stasera|poi|dopo|subito|per mail)(?!\p{L})/u,
    settled: /(?<!\p{L})(?:ora funziona|funziona (?:di nuovo|adesso)|e tutto|risolto|sono a posto|ho risolto)(?!\p{L})/u,
    content: /(?<!\p{L})(?:grazie|perfetto|ottimo|gentilissim[oa]|meno male|benissimo)(?!\p{L})/u,
    pending: /chiam|tecnico|sapere|contatt|scriv/,
    asksName: /(?<!\p{L})nome(?!\p{L})|come si chiama|con chi parlo/u,
  },
  pt: {
    wants: /(?<!\p{L})(?:queria|quero|gostaria|gostava|preciso|precisava|estou a ligar (?:por|para|porque)|estou ligando (?:por|para|porque)|ligo (?:por|para|porque)|liguei (?:por|para|porque)|tenho um problema|nao funciona|nao recebi|fui cobrad[oa]|perdi)(?!\p{L})/u,
    introduces: /(?<!\p{L})(?:chamo-me|me chamo|meu nome e|daqui|fala [ao])(?!\p{L})/u,
    did: /(?<!\p{L})(?!(?:falei|olhei|verifiquei|encontrei|achei|consultei|fiquei|cheguei|entrei|liguei|tentei|expliquei|direi)(?!\p{L}))(?:(?:alter|retir|tir|prepar|separ|repar|consider|ger)ei|\p{L}{2,}(?<![aei]r)ei|\p{L}{3,}ámos|abri|pedi|fiz|pus|inseri|corrigi|transferi|emiti|devolvi|repus)(?:-(?:lhe|o|a))?(?!\p{L})|(?<!\p{L})acab(?:ei|ámos|amos) de (?!ver|verificar|olhar|falar)\p{L}+r(?!\p{L})|(?<!\p{L})(?:está|fica|ficou|estão) (?:já )?(?:cancelad|anulad|alterad|marcad|registad|registrad|bloquead|confirmad|resolvid|ativad|corrigid|mudad|reservad)[oa]s?(?!\p{L})/u,
    agentWill: /(?<!\p{L})(?:vou|vamos|vai|vao) (?!ver|verificar|consultar|olhar|a |para )\p{L}+r(?:-lhe)?(?!\p{L})|(?<!\p{L})\p{L}{3,}(?:aremos|eremos|iremos|arao|erao|irao)(?!\p{L})|(?<!\p{L})(?:mando|envio|devolvemos|enviamos|mandamos|ligo|ligamos|confirmo|trato|avisamos|aviso|reembolsamos)(?:-lhe|-lhes|-o|-a)?(?!\p{L})|(?<!\p{L})(?:recebera|chega a sua casa)(?!\p{L})/u,
    needs: /(?<!\p{L})(?:tem (?:de|que)|deve|e preciso|precisamos)(?!\p{L})/u,
    customerWill: /(?<!\p{L})(?:vou|volto a) (?!ver|ter|ser|mudar)\p{L}+r(?!\p{L})|(?<!\p{L})\p{L}{3,}(?:arei|erei|irei)(?!\p{L})/u,
    customerDoes: /(?<!\p{L})(?:deixo|ligo|telefono|volto|envio|mando|pago|passo|levo|fico|trago|preparo|faco|espero|vou)(?:-(?:[oa]s?|lhe|lhes|vos))?(?!\p{L})/u,
    then: /(?<!\p{L})(?:entao|depois|logo|hoje a noite|outra vez|em casa|a espera)(?!\p{L})/u,
    settled: /(?<!\p{L})(?:ja funciona|e tudo|era so isso|so isso|resolvido|ja esta a funcionar)(?!\p{L})/u,
    content: /(?<!\p{L})(?:obrigad[oa]|perfeito|otimo|combinado|que bom|excelente)(?!\p{L})/u,
    pending: /(?<!\p{L})lig|tecnico|avis|contact|escrev/u,
    asksName: /(?<!\p{L})nome(?!\p{L})|como se chama|com quem falo/u,
  },
  nl: {
    wants: /(?<!\p{L})(?:ik wil(?:de)?|ik zou (?:\p{L}+ )?graag|ik heb (?:\p{L}+ ){0,3}nodig|ik bel (?:over|omdat|vanwege|voor)|het gaat om|ik heb een probleem|doet het niet|werkt niet|ik heb (?:\p{L}+ ){0,4}(?:niet ontvangen|niet gekregen|verloren)|er is (?:\p{L}+ ){0,4}afgeschreven|willen opzeggen)(?!\p{L})/u,
    introduces: /(?<!\p{L})(?:ik heet|mijn naam is|u spreekt met|je spreekt met)(?!\p{L})|(?:^|[,.] )met \p{L}+/u,
    did: /(?<!\p{L})(?:(?:ik|we|wij) heb(?:ben)?|heb(?:ben)? (?:ik|we|wij))(?!\p{L}).{0,90}?(?<!\p{L})(?!(?:gezien|gehoord|gevonden|begrepen|gezegd|gesproken|gekeken|gehad|ontvangen|gekregen|gelezen|geprobeerd|gewacht|geen|gebeld|beide|beste|vergeten)(?!\p{L}))(?:\p{L}{0,8}ge\p{L}{2,}(?:t|d|en)|(?:ver|be|her|ont)\p{L}{2,}(?:t|d|en)|opgenomen|gedaan)(?=[.,;!]|$| (?:en|per|naar|voor|op|van|met) )|(?<!\p{L})(?:is|zijn) (?:\p{L}+ ){0,4}(?:gewijzigd|geannuleerd|geblokkeerd|geregeld|verzet|verplaatst|bevestigd|stopgezet|opgezegd|geboekt|aangepast|opgelost)(?!\p{L})/u,
    agentWill: /(?<!\p{L})(?:we|wij|ik) (?:bellen|bel|sturen|stuur|mailen|mail|maken|maak|betalen|storten|schrijven|schrijf|zorgen|zorg|brengen|zullen|zal|gaan|ga) (?!even|kijken|na)|(?<!\p{L})(?:bellen|bel|sturen|stuur|mailen|mail|betalen) (?:we|wij|ik)(?!\p{L})|(?<!\p{L})u (?:ontvangt|krijgt|hoort)(?!\p{L})|(?<!\p{L})(?:monteur|koerier|collega|bezorger) (?:komt|belt|brengt)|(?<!\p{L})komt (?:er )?(?:de|een|onze) (?:monteur|koerier|collega)|(?<!\p{L})bij u in de bus/u,
    needs: /(?<!\p{L})(?:moet u|u moet|hebben we nodig|we hebben .{0,20}nodig|dient u)(?!\p{L})/u,
    customerWill: /(?<!\p{L})(?:ik zal|zal ik)(?!\p{L}) (?!het anders)/u,
    customerDoes: /(?<!\p{L})(?:ik (?:bel|stuur|breng|kom|ga|haal|betaal|mail|blijf|wacht|doe|hang|ben)|(?:bel|stuur|breng|kom|ga|haal|betaal|mail|blijf|wacht|doe|hang|ben) ik)(?!\p{L})/u,
    then: /(?<!\p{L})(?:dan|straks|later|weer|thuis|vanavond|zo|meteen)(?!\p{L})/u,
    settled: /(?<!\p{L})(?:doet het weer|werkt (?:weer|nu)|dat was het|dat was alles|opgelost)(?!\p{L})/u,
    content: /(?<!\p{L})(?:dank u|dank je|bedankt|perfect|mooi|fijn|top|gelukkig|prima)(?!\p{L})/u,
    pending: /(?<!\p{L})bel|monteur|schrij|laten weten/u,
    asksName: /(?<!\p{L})naam(?!\p{L})|met wie spreek|hoe heet/u,
  },
}; // prettier-ignore
